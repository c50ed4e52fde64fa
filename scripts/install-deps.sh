#!/usr/bin/env bash
# Installs the Debian 12 packages that blksweep needs, and nothing when they are all there.
#
#   scripts/install-deps.sh [GROUP...]     groups: build bpf mpi measure test figures latex peers
#                                          python browser lint (default: these),
#                                          and slurm
#
# exit: 0 all there (now), 1 apt-get failed, 2 usage, 77 packages are missing and this user cannot
# install them. Packages of the group bpf may be missing: the program is then built without the probe.
set -euo pipefail

# One package a line with the reason for it; the group is the name of the function.
group_build() {
  cat <<'LIST'
g++                   compiles everything (C++20)
make                  drives the build
git                   the revision that is stored with each result
liburing-dev          io_uring engine
libaio-dev            libaio engine
libsqlite3-dev        results database
libxxhash-dev         XXH3: --verify, emission hash, catalog checksum
libfmt-dev            text formatting
libexpected-dev       tl::expected, under Result<T>
libcli11-dev          command line
libtomlplusplus-dev   experiment files
nlohmann-json3-dev    --json, fio's output
libfuse3-dev          serves the file of an emulated disk
libhwloc-dev          binding of threads: CPUs and memory near a device
systemtap-sdt-dev     tracepoints of the reader (USDT)
libzstd-dev           dataset pack, decoding in a run
liblz4-dev            the same
libblosc-dev          the same
libarchive-dev        trace import: gzip, xz, zstd and tar of traces
LIST
}
group_bpf() {
  cat <<'LIST'
clang-14              compiles the eBPF programs
libbpf-dev            loads them
bpftool               makes their skeleton headers
libelf-dev            libbpf's dependency when linking
zlib1g-dev            libbpf's dependency when linking
LIST
}
group_mpi() {
  cat <<'LIST'
libopenmpi-dev        blksweep-mpi
openmpi-bin           mpirun, which starts it
pkgconf               where both are
LIST
}
group_measure() {
  cat <<'LIST'
fio                   the twin that each cell is compared with
e2fsprogs             mkfs.ext4 for the image of demo and bench
mount                 losetup and mount for the same
util-linux            blkid: an emulated disk's file is not overwritten
LIST
}
group_test() {
  cat <<'LIST'
libgtest-dev          unit and root tests
e2fsprogs             e4defrag: tests of files that move
xfsprogs              root tests on xfs; xfs_fsr, for the same
btrfs-progs           root tests on btrfs; balance, for the same
fdisk                 sfdisk: root tests on a partition
util-linux            setpriv and unshare: tests as another user; fstrim
sqlite3               tests look into the database
blktrace              blkparse and btt read what trace export writes
iproute2              ip: two nodes of ranks as network namespaces
xz-utils              traces in xz
bpftrace              tests start the scripts of ebpf/
strace                tests that no block device is written to
LIST
}
group_figures() {
  cat <<'LIST'
python3               figures, lint and test scripts
python3-numpy         figures
python3-matplotlib    figures
LIST
}
# Loaders that ours is compared with (run --peer): 60 MB to fetch.
group_peers() {
  cat <<'LIST'
python3-torch         peer torch: DataLoader
python3-pil           torch:jpeg, blksweep:jpeg
python3-zarr          peer zarr
python3-dask          peer zarr
python3-xxhash        all of them: XXH3 of what they deliver
LIST
}
# On its own: 400 MB that no measurement needs, so "make test" skips what wants it.
group_browser() {
  cat <<'LIST'
chromium              a test opens the page of a report
LIST
}
# 225 MB, 25 s: the document that "blksweep paper" makes is compiled; making it needs no LaTeX.
group_latex() {
  cat <<'LIST'
texlive-latex-base         pdflatex
texlive-latex-recommended  booktabs
texlive-pictures           pgf, for figures in the document's own font
poppler-utils              pdftotext: a test looks for the numbers
LIST
}
# The Python package: make python, pip install ./python.
group_python() {
  cat <<'LIST'
pybind11-dev          its module
python3-dev           its module
python3-numpy         arrays over the loader's memory
python3-setuptools    pip install ./python without a network
python3-pip           the same
python3-wheel         the same
python3-venv          a test installs it into an environment of its own
python3-torch         blksweep.torch
LIST
}
# Only where it is asked for: a node may have a Slurm of its own, and these are daemons.
group_slurm() {
  cat <<'LIST'
slurmctld                a test starts one for itself: the scripts of scripts/slurm/
slurmd                   its nodes
slurm-client             sbatch, srun, sinfo
slurm-wlm-basic-plugins  PMIx for srun
munge                    how they know each other
LIST
}
group_lint() {
  cat <<'LIST'
clang-14              libFuzzer builds
libclang-rt-14-dev    libFuzzer and sanitizer run time
lld-14                links them, and the programs of make mutate
llvm-14               make mutate: which function an address is
clang-tidy-14         make lint
clang-format-14       make lint, make format
shellcheck            make lint
LIST
}

usual_groups=(build bpf mpi measure test figures latex peers python browser lint)
all_groups=("${usual_groups[@]}" slurm)

missing_of() {
  local package rest
  "group_$1" | while read -r package rest; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

check_groups() {
  local group
  for group in "$@"; do
    case " ${all_groups[*]} " in
      *" $group "*) ;;
      *) echo "install-deps: no group '$group'; groups: ${all_groups[*]}" >&2; exit 2 ;;
    esac
  done
}

# Prints the command prefix that may install, or fails.
become_root() {
  if [ "$(id -u)" = 0 ]; then
    echo env
  elif command -v sudo >/dev/null; then
    echo sudo
  else
    return 1
  fi
}

explain() {
  local package
  for package in "$@"; do
    for group in "${all_groups[@]}"; do
      "group_$group"
    done | awk -v p="$package" '$1 == p { print "  " $0; exit }'
  done
}

apt() {
  local -a prefix=("$1")
  shift
  "${prefix[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" </dev/null
}

# The update runs once and only here, so a complete node needs no network.
install() {
  local prefix
  if ! command -v apt-get >/dev/null; then
    echo "install-deps: this is not Debian; install the equivalents of: $*" >&2
    return 77
  fi
  if ! prefix=$(become_root); then
    echo "install-deps: not root and no sudo; run as root: apt-get install --no-install-recommends $*" >&2
    return 77
  fi
  echo "install-deps: installing with apt-get:"
  explain "$@"
  if [ -z "${updated:-}" ]; then
    apt "$prefix" update || return 1
    updated=1
  fi
  apt "$prefix" install -y --no-install-recommends "$@" >&2
}

main() {
  local group
  local -a groups=("$@") needed=() optional=()
  [ $# -gt 0 ] || groups=("${usual_groups[@]}")
  check_groups "${groups[@]}"
  for group in "${groups[@]}"; do
    if [ "$group" = bpf ]; then
      mapfile -t optional < <(missing_of bpf)
    else
      mapfile -t -O "${#needed[@]}" needed < <(missing_of "$group")
    fi
  done
  if [ $((${#needed[@]} + ${#optional[@]})) = 0 ]; then
    echo "install-deps: all packages are there (${groups[*]})"
    return
  fi
  if [ ${#needed[@]} -gt 0 ]; then
    install "${needed[@]}" || exit $?
  fi
  if [ ${#optional[@]} -gt 0 ] && ! install "${optional[@]}"; then
    echo "install-deps: going on without ${optional[*]}: the program is built without the eBPF probe" >&2
  fi
}

main "$@"
