#!/usr/bin/env bash
# Packs what was built into a folder that runs on a node with nothing installed (docs/bundle.md).
#
#   scripts/bundle.sh BUILD VERSION [OUT]    BUILD: holds blksweep, unit_tests and python/blksweep; built
#                                            with CUDA also gpu_tests and bench/gpu_bench_cuda
#
# Makes OUT/blksweep-VERSION (OUT: BUILD/bundle) and the same as .tar.gz, and prints both with sizes.
# NVCC: the compiler of the kernels, for its version. LEVEL: of gzip (6). Nothing of NVIDIA's is packed.
# exit: 0 done, 1 failed, 2 usage
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "bundle.sh: $1" >&2
  exit "${2:-1}"
}

[ $# = 2 ] || [ $# = 3 ] || fail 'usage: bundle.sh BUILD VERSION [OUT]' 2
build=$1
name=blksweep-$2
out=${3:-$build/bundle}
root=$out/$name
# Copy stage (emulated; the host's is in the account's runs), compute times, decoding, delivery, the
# account, the timeline, and what a run does without: of the unit tests, what needs no rights.
suites=(VirtualLink EmulatedCopy EmulatedConsumer CopyLoop ComputeTime AnchorClock PartHash
  Codec All/CodecTest Half SampleHeader DecodeTest Engines/DeliveryTest
  Account AccountOfARun AccountOfDecoding Intervals TraceEvents Fallback StageFaults
  Pieces GpuErrors GpuRefusal GpuText GemmPlan)
# The C library's own pieces of former days: a GPU driver's library asks for them by name, and must
# not get the node's, which belong to another C library.
libc_pieces=(libdl.so.2 libpthread.so.0 librt.so.1 libm.so.6 libresolv.so.2 libutil.so.1)

declare -A owner=() # by file: its package
find_owners() { # FILE...: /, where a library is loaded from, and /usr hold the same files, and packages name either
  local line path
  while IFS= read -r line; do
    path=${line##*: }
    owner[$path]=${owner[$path]:-${line%%:*}}
  done < <(dpkg-query -S "$@" "${@#/usr}" 2>/dev/null || true)
}

cuda=$(grep -q 'CUDA=1' "$build/features" && echo 1 || echo 0)
built=("$build/blksweep" "$build/unit_tests")
[ -e "$build/python/blksweep/_native.so" ] || fail "$build/python is missing: make python"
names=(blksweep bundle-test)
if [ "$cuda" = 1 ]; then
  built+=("$build/gpu_tests" "$build/bench/gpu_bench_cuda")
  names+=(gpu-test gpu-bench)
  nvcc=$(command -v "${NVCC:-/usr/local/cuda/bin/nvcc}" || command -v "${NVCC:-nvcc}") ||
    fail "no ${NVCC:-nvcc}, yet $build was built with CUDA: name the compiler, NVCC=FILE"
fi
for program in "${built[@]}"; do
  [ -x "$program" ] || fail "$program is missing: make $program"
  ! readelf -d "$program" | grep -E 'lib[at]san' >/dev/null || fail 'a sanitizer build cannot be bundled: make bundle without SAN'
done
tests=$(printf '%s.*:' "${suites[@]}")
for suite in "${suites[@]}"; do
  [ -n "$("$build/unit_tests" --gtest_list_tests --gtest_filter="$suite.*" | grep '^ ' || true)" ] ||
    fail "$build/unit_tests has no test $suite: it was renamed, so name it in scripts/bundle.sh"
done

rm -rf "$root" "$root.tar.gz"
mkdir -p "$root/bin" "$root/lib" "$root/licenses" "$root/scripts"

# --- programs: bin/NAME, each started by a launcher of the same name at the top ----------------------
loader=$(readelf -l "$build/blksweep" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
${CXX:-g++} -std=c++20 -O2 -static -fno-exceptions -fno-rtti -DLOADER="\"${loader##*/}\"" \
  -DBUNDLE_TESTS="\"${tests%:}\"" scripts/bundle/launch.cpp -o "$root/blksweep"
strip "$root/blksweep"
for i in "${!built[@]}"; do
  strip --strip-debug -o "$root/bin/${names[$i]}" "${built[$i]}"
  [ "$i" = 0 ] || ln "$root/blksweep" "$root/${names[$i]}"
done

# --- libraries: everything that the programs load, the C library and its loader too -------------------
declare -A libraries=()
needed=$(ldd "${built[@]}")
! grep -q 'not found' <<<"$needed" || fail "$(grep 'not found' <<<"$needed" | sed -n 1p)"
while read -r path; do
  libraries[${path##*/}]=$path
done < <(awk '$2 == "=>" && $3 ~ /^\// { print $3 }' <<<"$needed")
[ -n "${libraries[libc.so.6]:-}" ] || fail "ldd $build/blksweep names no C library"
libraries[${loader##*/}]=$loader
for piece in "${libc_pieces[@]}"; do
  path=$(dirname "${libraries[libc.so.6]}")/$piece
  [ ! -e "$path" ] || libraries[$piece]=$path
done
for soname in "${!libraries[@]}"; do
  cp -L "${libraries[$soname]}" "$root/lib/$soname"
done
chmod 755 "$root"/lib/*

# --- the Python package: for the node's Python, so with the node's C library; the rest is beside it ---------
mkdir -p "$root/python/blksweep/lib"
cp "$build"/python/blksweep/*.py "$build"/python/blksweep/*.pyi "$build/python/blksweep/py.typed" "$root/python/blksweep/"
strip --strip-debug -o "$root/python/blksweep/_native.so" "$build/python/blksweep/_native.so"
while read -r path; do
  [[ ${path##*/} =~ ^(libc|libm|libdl|libpthread|librt|libresolv)\.so ]] || ln "$root/lib/${path##*/}" "$root/python/blksweep/lib/" ||
    fail "${path##*/} is needed by the Python package and not by blksweep"
done < <(ldd "$build/python/blksweep/_native.so" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }')

# --- licenses and versions of what is shipped: shared, static and in headers --------------------------
packages=(libc6-dev libfmt-dev libexpected-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev googletest)
mapfile -t files < <(realpath "${libraries[@]}")
find_owners "${files[@]}"
for soname in "${!libraries[@]}"; do
  file=$(realpath "${libraries[$soname]}")
  package=${owner[$file]:-${owner[${file#/usr}]:-}}
  [ -n "$package" ] || fail "${libraries[$soname]} belongs to no package: its license is not known"
  packages+=("$package")
  echo "$soname $package" >>"$root/licenses/LIBRARIES"
done
sort -o "$root/licenses/LIBRARIES" "$root/licenses/LIBRARIES"
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
for package in "${packages[@]}"; do
  copyright=/usr/share/doc/$package/copyright
  [ -e "$copyright" ] || fail "no $copyright: its license is not known"
  cp -L "$copyright" "$root/licenses/$package"
done
mkdir "$root/licenses/common"
grep -rhoE '/usr/share/common-licenses/[A-Za-z]+(-[0-9.]*[0-9])?' "$root/licenses" | sort -u | while read -r text; do
  [ ! -e "$text" ] || cp -L "$text" "$root/licenses/common/"
done
cp LICENSE "$root/licenses/blksweep"
cp ebpf/LICENSE "$root/licenses/blksweep-ebpf"
cp NOTICE "$root/licenses/NOTICE"

# --- files ----------------------------------------------------------------------------------------------
cp -r scripts/experiments scripts/models scripts/figures scripts/peers "$root/scripts/"
if [ "$cuda" = 1 ]; then # and what bench-gpu.sh sources
  cp scripts/bench-gpu.sh scripts/exposed_copy.py "$root/scripts/"
  find scripts -maxdepth 1 -name '*.bash' -exec cp {} "$root/scripts/" \;
fi
mkdir "$root/scripts/bundle"
cp scripts/bundle/launch.cpp "$root/scripts/bundle/"
find "$root/scripts" -name __pycache__ -prune -exec rm -r {} +
cp scripts/bundle/README.md "$root/README.md"
revision=$(git -c safe.directory='*' describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
{
  echo "blksweep $2"
  echo "git $revision"
  echo "build $(cat "$build/features" 2>/dev/null || echo unknown)"
  echo "compiler $(${CXX:-g++} --version | sed 1q)"
  [ "$cuda" = 0 ] || echo "cuda $("$nvcc" --version | sed -n 's/.*release [^ ]* V//p')"
  dpkg-query -W -f '${binary:Package} ${Version}\n' "${packages[@]}"
} >"$root/VERSIONS"
(cd "$root" && find . -type f ! -name MANIFEST -printf '%P\n' | sort | xargs -d '\n' sha256sum) >"$out/.manifest"
mv "$out/.manifest" "$root/MANIFEST"

# --- the same bytes from the same build ----------------------------------------------------------------
epoch=${SOURCE_DATE_EPOCH:-$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null || echo 0)}
tar -C "$out" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "$name" |
  gzip -n "-${LEVEL:-6}" >"$root.tar.gz"
size() { numfmt --to=iec-i --suffix=B "$1"; }
echo "$root ($(size "$(du -sb "$root" | cut -f 1)"))"
echo "$root.tar.gz ($(size "$(stat -c %s "$root.tar.gz")"))"
