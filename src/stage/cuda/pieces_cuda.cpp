#include "stage/cuda/pieces_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "stage/cuda/batch_copy_cuda.h"

namespace blksweep {
namespace {

std::uintptr_t address(const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); }

std::size_t sum_of(std::span<const BatchPart> parts) {
  std::size_t bytes = 0;
  for (const BatchPart& part : parts) {
    bytes += part.bytes;
  }
  return bytes;
}

Result<> copy_one_by_one(const Pieces& p, CopyRange range, cudaStream_t stream) {
  for (std::size_t i = range.first; i < range.last; ++i) {
    BLKSWEEP_CHECK(
        cuda_result(cudaMemcpyAsync(p.to[i], p.from[i], p.bytes[i], cudaMemcpyHostToDevice, stream),
                    "cudaMemcpyAsync to the GPU"));
  }
  return {};
}

// What a refusal of the call itself looks like; anything else is a failure of the work. The runtime
// is linked in, so the call is always there: an older driver is met when it is made.
bool refused(cudaError_t err) {
  return err == cudaErrorNotSupported || err == cudaErrorInvalidValue ||
         err == cudaErrorCallRequiresNewerDriver || err == cudaErrorSymbolNotFound;
}

}  // namespace

Result<> StagedBatch::stage(Staging staging, std::span<const BatchPart> parts, std::byte* slot,
                            Pieces& pieces) {
  pieces.clear();
  if (staging == Staging::per_batch) {
    BLKSWEEP_TRY(const std::byte* const all, gather(parts));
    pieces.add(all, slot, sum_of(parts));
    return {};
  }
  if (staging == Staging::register_each) {
    BLKSWEEP_CHECK(register_parts(parts));
  }
  for (const BatchPart& part : parts) {
    pieces.add(part.data, slot, part.bytes);
    slot += part.bytes;
  }
  return {};
}

Result<const std::byte*> StagedBatch::gather(std::span<const BatchPart> parts) {
  BLKSWEEP_TRY(gathered_, pinned_memory(sum_of(parts)));
  auto* const all = static_cast<std::byte*>(gathered_.get());
  std::byte* to = all;
  for (const BatchPart& part : parts) {
    std::memcpy(to, part.data, part.bytes);
    to += part.bytes;
  }
  return all;
}

// Pages can be registered once only, and a copy must not cross from one registration to another:
// ranges that touch are registered together.
Result<> StagedBatch::register_parts(std::span<const BatchPart> parts) {
  wanted_.clear();
  for (const BatchPart& part : parts) {
    if (part.bytes > 0) {
      wanted_.push_back({align_down(address(part.data), kPageBytes),
                         align_up(address(part.data) + part.bytes, kPageBytes)});
    }
  }
  std::ranges::sort(wanted_, {}, &Range::begin);
  for (std::size_t i = 0; i < wanted_.size();) {
    Range whole = wanted_[i];
    for (++i; i < wanted_.size() && wanted_[i].begin <= whole.end; ++i) {
      whole.end = std::max(whole.end, wanted_[i].end);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): rounded to whole pages
    void* const begin = reinterpret_cast<void*>(whole.begin);
    BLKSWEEP_CHECK(register_host(begin, whole.end - whole.begin));
    registered_.push_back(begin);
  }
  return {};
}

Result<> StagedBatch::release() {
  Result<> result;
  for (void* const begin : registered_) {
    if (const Result<> undone = cuda_result(cudaHostUnregister(begin), "cudaHostUnregister");
        !undone && result) {
      result = undone;
    }
  }
  registered_.clear();
  gathered_.reset();
  return result;
}

std::string CopyCalls::words() const {
  if (batch_calls > 0) {
    return fmt::format("{} cudaMemcpyBatchAsync, {} cudaMemcpyAsync", batch_calls, single_calls);
  }
  return fmt::format("{} cudaMemcpyAsync{}", single_calls,
                     refusal.empty() ? "" : ", cudaMemcpyBatchAsync refused: " + refusal);
}

Result<> copy_pieces(const Pieces& p, CopyRange range, cudaStream_t stream, CopyCalls& calls) {
  const std::size_t count = range.last - range.first;
  if (calls.one_call && count > 1) {
    const cudaError_t err = batch_copy(
        {&p.to[range.first], &p.from[range.first], &p.bytes[range.first], count}, stream);
    if (!refused(err)) {
      ++calls.batch_calls;
      return cuda_result(err, "cudaMemcpyBatchAsync to the GPU");
    }
    // What it may have issued before is copied again, to the same place.
    calls.one_call = false;
    calls.refusal = cudaGetErrorName(err);
    cudaGetLastError();
  }
  calls.single_calls += count;
  return copy_one_by_one(p, range, stream);
}

}  // namespace blksweep
