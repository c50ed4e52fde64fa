#!/usr/bin/env bash
# Does the stand-in for a GPU find what it is there for? Faults are planted in copies of the CUDA stages, one at
# a time, and tests/gpu runs on each: it must fail, and the stand-in or a test must say why (memory of the GPU's
# that the host touches: SIGSEGV).
#   tests/soak/gpu_faults.sh BUILD
# Two minutes. exit: 0 all found, 1 one was not, 77 the build has no CUDA.
set -euo pipefail

build=${1:-build}
grep -q 'CUDA=1' "$build/features" || { echo 'SKIP: no GPU stages: built without CUDA'; exit 77; }
make --no-print-directory -s B="$build" "$build/gpu_tests" "$build/standin/libcuda.so.1"
planted=$build/planted
found=0 all=0
trap 'rm -rf "$planted"' EXIT

# plant NAME FILE OLD NEW SAYS: SAYS is what one of the lines must match.
plant() {
  local name=$1 file=$2 old=$3 new=$4 says=$5 source log status
  all=$((all + 1))
  source=$(<"src/stage/cuda/$file")
  if [[ $source != *"$old"* ]]; then
    echo "NO PLACE  $name: $file has no '$old'"
    return
  fi
  rm -rf "$planted"
  mkdir -p "$planted"
  printf '%s\n' "${source/"$old"/"$new"}" >"$planted/$file"
  make --no-print-directory -s B="$build" "$planted/gpu_tests"
  log=$planted/log
  status=0
  { LD_LIBRARY_PATH=$build/standin timeout 300 "$planted/gpu_tests" --gtest_brief=1 \
    --gtest_filter='-GpuInterrupt*:StandinChecks*' >"$log" 2>&1 || status=$?; } 2>/dev/null
  echo "ended with status $status" >>"$log"
  if [ "$status" = 0 ]; then
    echo "MISSED    $name"
  elif ! grep -qE "$says" "$log"; then
    echo "OTHERWISE $name: $(grep -vE '^(Running|\[)' "$log" | tail -n 3 | paste -sd' ')"
  else
    found=$((found + 1))
    echo "found     $name: $(grep -E -m 1 "$says" "$log")"
  fi
}

plant 'memory given back before the copy ended' copy_cuda.cpp \
  '  const Result<> waited =' '  [[maybe_unused]] const Result<> early = f.staged.release();
  const Result<> waited =' 'of memory that a copy in flight uses'
plant 'source changed before the copy ran' copy_cuda.cpp \
  '  f.complete = true;' '  if (pieces_.size() > 0) {
    static_cast<std::byte*>(const_cast<void*>(pieces_.from[0]))[0] ^= std::byte{1};
  }
  f.complete = true;' 'changed before it ran'
plant 'source not registered' copy_cuda.cpp \
  '  BLKSWEEP_CHECK(register_host(settings_.arena.data(), settings_.arena.size()));
  registered_ = true;' '' 'is not pinned'
plant 'registration given back twice' copy_cuda.cpp \
  '  if (registered_) {' '  if (registered_) {
    cuda_driver().host_unregister(settings_.arena.data());' 'not registered is unregistered'
plant 'the host touches memory of the GPU' copy_cuda.cpp \
  '  return issue(f);' '  *slot(batch) = std::byte{0};
  return issue(f);' 'ended with status 139'
plant 'event used that was not recorded' copy_cuda.cpp \
  '  BLKSWEEP_CHECK(
      cuda_result(cuda_driver().event_record(slice.begin.get(), stream), "cuEventRecord"));' '' \
  'event that was not recorded'
plant 'a stream is not waited for' copy_cuda.cpp \
  'cuda_driver().stream_wait_event(lanes_[0].stream.get(),' 'cuda_driver().stream_wait_event(stream,' \
  'does not wait|Failure'
plant 'clock read wrong' clock_cuda.cpp \
  'r->device_ns = at.ns;' 'r->device_ns = at.ns + 40'"'"'000;' 'standin_clock_cuda_test.cpp:.*Failure'
plant 'thread without a device' hash_cuda.cpp \
  'hash_.resize(parts.size());' 'hash_.resize(parts.size());
  cuda_driver().context_use(nullptr);' 'on a thread that uses no device'
plant 'registration never given back' copy_cuda.cpp \
  '    cuda_driver().host_unregister(settings_.arena.data());' '' 'at the end there are left|already mapped'
plant 'kernel with a wrong shape' kernels_cuda.cpp \
  '{p.parts, 1, kHashThreads, 1}' '{p.parts, 1, kHashThreads / 2, 1}' 'not a block a part'

echo "planted faults: $all, found: $found"
[ "$found" = "$all" ]
