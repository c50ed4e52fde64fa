#include "stage/cuda/pieces_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"

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

Result<> copy_one_by_one(const Pieces& p, CopyRange range, CUstream stream) {
  for (std::size_t i = range.first; i < range.last; ++i) {
    BLKSWEEP_CHECK(
        cuda_result(cuda_driver().copy_to_device(on_gpu(p.to[i]), p.from[i], p.bytes[i], stream),
                    "cuMemcpyHtoDAsync to the GPU"));
  }
  return {};
}

// What a refusal of the call itself looks like; anything else is a failure of the work.
bool refused(CUresult err) {
  return err == CUDA_ERROR_NOT_SUPPORTED || err == CUDA_ERROR_INVALID_VALUE ||
         err == CUDA_ERROR_NOT_FOUND;
}

// A driver before CUDA 12.8 has no such call, nor has the cuda.h of that time its attributes.
CUresult copy_batch([[maybe_unused]] const Pieces& p, [[maybe_unused]] CopyRange range,
                    [[maybe_unused]] CUstream stream) {
#if CUDA_VERSION >= 12080
  if (cuda_driver().copy_batch == nullptr) {
    return CUDA_ERROR_NOT_FOUND;
  }
  // The sources stay until the stream has passed, and no earlier work of it touches them; copy
  // engines rather than multiprocessors should carry them.
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  attributes.flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
  std::size_t first = 0;  // copy that the attributes are for
  std::size_t failed = 0;
  return cuda_driver().copy_batch(&p.to[range.first], &p.from[range.first], &p.bytes[range.first],
                                  range.last - range.first, &attributes, &first, 1, &failed,
                                  stream);
#else
  return CUDA_ERROR_NOT_FOUND;
#endif
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
    if (const Result<> undone =
            cuda_result(cuda_driver().host_unregister(begin), "cuMemHostUnregister");
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
    return fmt::format("{} cuMemcpyBatchAsync, {} cuMemcpyHtoDAsync", batch_calls, single_calls);
  }
  return fmt::format("{} cuMemcpyHtoDAsync{}", single_calls,
                     refusal.empty() ? "" : ", cuMemcpyBatchAsync refused: " + refusal);
}

Result<> copy_pieces(const Pieces& p, CopyRange range, CUstream stream, CopyCalls& calls) {
  const std::size_t count = range.last - range.first;
  if (calls.one_call && count > 1) {
    const CUresult err = copy_batch(p, range, stream);
    if (!refused(err)) {
      ++calls.batch_calls;
      return cuda_result(err, "cuMemcpyBatchAsync to the GPU");
    }
    // What it may have issued before is copied again, to the same place.
    calls.one_call = false;
    calls.refusal = cuda_words(err);
  }
  calls.single_calls += count;
  return copy_one_by_one(p, range, stream);
}

}  // namespace blksweep
