#include "stage/pieces_cuda.h"

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

void add(Pieces& p, const BatchPart& part, std::byte* to) {
  if (part.bytes == 0) {
    return;
  }
  if (p.size() > 0 && static_cast<const std::byte*>(p.from.back()) + p.bytes.back() == part.data) {
    p.bytes.back() += part.bytes;
    return;
  }
  p.from.push_back(part.data);
  p.to.push_back(to);
  p.bytes.push_back(part.bytes);
}

Result<> copy_one_by_one(const Pieces& p, PieceRange range, cudaStream_t stream) {
  for (std::size_t i = range.first; i < range.last; ++i) {
    BLKSWEEP_CHECK(
        cuda_result(cudaMemcpyAsync(p.to[i], p.from[i], p.bytes[i], cudaMemcpyHostToDevice, stream),
                    "cudaMemcpyAsync to the GPU"));
  }
  return {};
}

#if CUDART_VERSION >= 13000
cudaError_t copy_in_one_call(const Pieces& p, PieceRange range, cudaStream_t stream) {
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  std::size_t first_of_attributes = 0;
  return cudaMemcpyBatchAsync(&p.to[range.first], &p.from[range.first], &p.bytes[range.first],
                              range.last - range.first, &attributes, &first_of_attributes, 1,
                              stream);
}
#else  // the call of 12.8 has another signature, and before it there is none
cudaError_t copy_in_one_call(const Pieces&, PieceRange, cudaStream_t) {
  return cudaErrorNotSupported;
}
#endif

// What a refusal of the call itself looks like; anything else is a failure of the work.
bool refused(cudaError_t err) {
  return err == cudaErrorNotSupported || err == cudaErrorInvalidValue ||
         err == cudaErrorCallRequiresNewerDriver;
}

}  // namespace

void Pieces::reserve(std::size_t n) {
  from.reserve(n);
  to.reserve(n);
  bytes.reserve(n);
}

void Pieces::clear() {
  from.clear();
  to.clear();
  bytes.clear();
}

Result<> StagedBatch::stage(Staging staging, std::span<const BatchPart> parts, std::byte* slot,
                            Pieces& pieces) {
  pieces.clear();
  if (staging == Staging::per_batch) {
    BLKSWEEP_TRY(const std::byte* const all, gather(parts));
    add(pieces, {all, sum_of(parts)}, slot);
    return {};
  }
  if (staging == Staging::register_each) {
    BLKSWEEP_CHECK(register_parts(parts));
  }
  for (const BatchPart& part : parts) {
    add(pieces, part, slot);
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
    BLKSWEEP_CHECK(
        cuda_result(cudaHostRegister(begin, whole.end - whole.begin, cudaHostRegisterDefault),
                    fmt::format("cudaHostRegister of {} (--staging register)",
                                format_bytes({whole.end - whole.begin}))));
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

Result<> copy_pieces(const Pieces& p, PieceRange range, cudaStream_t stream, bool& one_call) {
  if (one_call && range.last - range.first > 1) {
    const cudaError_t err = copy_in_one_call(p, range, stream);
    if (!refused(err)) {
      return cuda_result(err, "cudaMemcpyBatchAsync to the GPU");
    }
    one_call = false;
    cudaGetLastError();
  }
  return copy_one_by_one(p, range, stream);
}

}  // namespace blksweep
