#!/usr/bin/env bash
# Packs what was built into a folder that runs on a node with nothing installed (docs/bundle.md).
#
#   scripts/bundle.sh BUILD VERSION [OUT]    BUILD: holds blksweep and unit_tests
#
# Makes OUT/blksweep-VERSION (OUT: BUILD/bundle) and the same as .tar.gz, and prints both with sizes.
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
# What needs neither a disk nor rights, and tells whether the copy stage works on that node.
tests='*Copy*:*Compute*:*Consumer*:*Stage*:*Delivery*:*Account*:*Overlap*:*Timeline*'
# The C library's own pieces of former days: a GPU driver's library asks for them by name, and must
# not get the node's, which belong to another C library.
libc_pieces=(libdl.so.2 libpthread.so.0 librt.so.1 libm.so.6 libresolv.so.2 libutil.so.1)

programs=()
for program in "$build/blksweep" "$build/unit_tests"; do
  [ -x "$program" ] || fail "$program is missing: make $program"
done
! readelf -d "$build/blksweep" | grep -qE 'lib[at]san' || fail 'a sanitizer build cannot be bundled: make bundle without SAN'

rm -rf "$root" "$root.tar.gz"
mkdir -p "$root/bin" "$root/lib" "$root/licenses" "$root/scripts"

# --- programs: bin/NAME, each started by a launcher of the same name at the top ----------------------
loader=$(readelf -l "$build/blksweep" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
${CXX:-g++} -std=c++20 -O2 -static -fno-exceptions -fno-rtti -DLOADER="\"${loader##*/}\"" \
  -DBUNDLE_TESTS="\"$tests\"" scripts/bundle/launch.cpp -o "$root/blksweep"
strip "$root/blksweep"
add_program() { # FILE NAME
  strip --strip-debug -o "$root/bin/$2" "$1"
  [ "$2" = blksweep ] || ln "$root/blksweep" "$root/$2"
  programs+=("$1")
}
add_program "$build/blksweep" blksweep
add_program "$build/unit_tests" bundle-test
if [ -x "$build/gpu_tests" ]; then
  add_program "$build/gpu_tests" gpu-test
fi

# --- libraries: everything that the programs load, the C library and its loader too -------------------
declare -A libraries=()
needed=$(ldd "${programs[@]}")
! grep -q 'not found' <<<"$needed" || fail "$(grep 'not found' <<<"$needed" | head -n 1)"
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

# --- licenses and versions of what is shipped: shared, static and in headers --------------------------
package_of() { # FILE: / and /usr hold the same files, and packages name either
  local file
  file=$(realpath "$1")
  { dpkg-query -S "$file" "${file#/usr}" 2>/dev/null || true; } | sed -n '1s/:.*//p'
}
packages=(libc6-dev libfmt-dev libexpected-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev googletest)
for path in "${libraries[@]}"; do
  package=$(package_of "$path")
  [ -n "$package" ] || fail "$path belongs to no package: its license is not known"
  packages+=("$package")
done
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
cuda_terms=/usr/local/cuda/EULA.txt
if grep -q 'CUDA=1' "$build/config" && [ -e "$cuda_terms" ]; then
  cp "$cuda_terms" "$root/licenses/cuda-runtime"
fi

# --- files ----------------------------------------------------------------------------------------------
cp -r scripts/experiments scripts/models scripts/figures "$root/scripts/"
mkdir "$root/scripts/bundle"
cp scripts/bundle/launch.cpp "$root/scripts/bundle/"
find "$root/scripts" -name __pycache__ -prune -exec rm -r {} +
cp scripts/bundle/README.md "$root/README.md"
revision=$(git -c safe.directory='*' describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
{
  echo "blksweep $2"
  echo "git $revision"
  echo "build $(cat "$build/config" 2>/dev/null || echo unknown)"
  echo "compiler $(${CXX:-g++} --version | head -n 1)"
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${binary:Package} ${Version}\n' "$package"
  done
} >"$root/VERSIONS"
(cd "$root" && find . -type f ! -name MANIFEST -printf '%P\n' | sort | xargs -d '\n' sha256sum) >"$out/.manifest"
mv "$out/.manifest" "$root/MANIFEST"

# --- the same bytes from the same build ----------------------------------------------------------------
epoch=${SOURCE_DATE_EPOCH:-$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null || echo 0)}
tar -C "$out" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "$name" |
  gzip -n >"$root.tar.gz"
size() { numfmt --to=iec-i --suffix=B "$1"; }
echo "$root ($(size "$(du -sb "$root" | cut -f 1)"))"
echo "$root.tar.gz ($(size "$(stat -c %s "$root.tar.gz")"))"
