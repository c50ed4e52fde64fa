#!/usr/bin/env bash
# How many lines of src/stage/cuda/*_cuda.cpp the tests of tests/gpu execute on the stand-in for a GPU.
#   scripts/coverage-gpu.sh BUILD [LEAST]    LEAST: percent below which it fails (default 90)
# `make coverage-gpu` builds BUILD/coverage/gpu_tests before. exit: 0 enough, 1 not, or a test failed.
set -euo pipefail

build=$1
least=${2:-90}
find "$build/coverage" -name '*.gcda' -delete
LD_LIBRARY_PATH=$PWD/$build/standin "$build/coverage/gpu_tests" --gtest_brief=1
find "$build/coverage" -name '*.gcda' -exec gcov --no-output {} + 2>/dev/null |
  awk -v least="$least" '
    /^File / { file = $0; gsub(/^File .|.$/, "", file) }
    /^Lines executed:/ && file ~ /^src\/stage\/cuda\/.*_cuda\.cpp$/ {
      share = substr($2, 10) + 0
      printf "%6.2f %% of %4d lines  %s\n", share, $4, file
      lines += $4
      executed += share * $4 / 100
      file = ""
    }
    END {
      total = lines ? 100 * executed / lines : 0
      printf "%6.2f %% of %4d lines of the CUDA stages (bar: %d %%): %s\n", total, lines, least, (total >= least ? "pass" : "FAIL")
      exit (total < least)
    }'
