#!/usr/bin/env bash
# The tests that need a GPU, then the same under compute-sanitizer where it is installed.
#   scripts/test-gpu.sh BUILD
# Without a GPU each test is skipped with the reason. exit: 0 nothing failed, 1 something did.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/gpu-parts.bash
. "$here/gpu-parts.bash"
gpu_deadline=200 # with that of bench-gpu.sh under 8 minutes
build=$1
# Those that fail on purpose or start other programs are not for the sanitizer.
clean='*:-GpuFailure*:GpuInterrupt*:*CannotHold*:*OutOfRange*'

part "tests" 120 /usr/bin/python3 "$here/run_tests.py" --build "$build" --label 'test-gpu: ' gpu
sanitizer=$(command -v compute-sanitizer || true)
[ -n "$sanitizer" ] || sanitizer=$(ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if ! [ -e /dev/nvidiactl ]; then
  row "compute-sanitizer" "skipped" "" "no GPU (/dev/nvidiactl)"
elif [ -z "$sanitizer" ]; then
  row "compute-sanitizer" "skipped" "" "it is not installed"
else
  # The wait for an event that has not passed yet is no error of ours.
  part "compute-sanitizer memcheck" 60 "$sanitizer" --tool memcheck --report-api-errors no \
    --error-exitcode 9 "$build/gpu_tests" --gtest_brief=1 --gtest_filter="$clean"
  part "compute-sanitizer racecheck" 60 "$sanitizer" --tool racecheck \
    --error-exitcode 9 "$build/gpu_tests" --gtest_brief=1 --gtest_filter="$clean"
fi
finish
