#!/usr/bin/env bash
# The package in Python for longer: CASES (200) of each property, five times as many sequences of misuse, and CASES resumed
# epochs; then the tests that use memory as they should not with the address sanitizer in the interpreter (SAN_BUILD: where it
# is built).
set -euo pipefail
: "${BLKSWEEP:?}" "${BUILD:?}"
export PYTHON_CASES=${CASES:-200} BLKSWEEP
san=${SAN_BUILD:-build-asan-python}
python=${PYTHON:-/usr/bin/python3}

tests() { # PACKAGE TEST...
  PYTHONPATH=$1 "$python" -m unittest discover -s tests/python -t tests/python -p "$2" 2>&1 | tail -n 4
}
tests "$BUILD/python" 'misuse_test.py'
tests "$BUILD/python" 'resume_test.py'

make -s -j"$(nproc)" SAN=asan B="$san" CXX=g++ CXXFLAGS='-O1 -g1' python
asan=$(g++ -print-file-name=libasan.so)
# Of the interpreter's own memory nothing is ours to free; libubsan comes with it, for the same flags.
export ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
LD_PRELOAD="$asan $(g++ -print-file-name=libstdc++.so)" tests "$san/python" 'misuse_test.py'
LD_PRELOAD="$asan $(g++ -print-file-name=libstdc++.so)" tests "$san/python" 'loader_test.py'
