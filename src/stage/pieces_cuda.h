// What a batch becomes on its way to the GPU: runs of bytes, each in one piece of host memory that
// its copy may read from, one behind the other in the slot.
//
// Ownership: StagedBatch holds what was registered or allocated for this batch alone; release() it
//            only when its copies are through.
// Threads:   the copy thread.
#pragma once

#include <span>
#include <vector>

#include "stage/copy_stage.h"
#include "stage/device_cuda.h"
#include "stage/stage_settings.h"

namespace blksweep {

// Parallel arrays, as cudaMemcpyBatchAsync takes them.
struct Pieces {
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<std::size_t> bytes;

  void reserve(std::size_t n);
  void clear();
  std::size_t size() const { return from.size(); }
};

class StagedBatch {
 public:
  StagedBatch() = default;
  StagedBatch(const StagedBatch&) = delete;
  StagedBatch& operator=(const StagedBatch&) = delete;
  ~StagedBatch() { [[maybe_unused]] const Result<> ignored = release(); }

  // Makes the parts fit for `staging` and lists the copies into `slot`; parts that lie side by side
  // become one.
  Result<> stage(Staging staging, std::span<const BatchPart> parts, std::byte* slot,
                 Pieces& pieces);
  Result<> release();

 private:
  Result<> register_parts(std::span<const BatchPart> parts);
  Result<const std::byte*> gather(std::span<const BatchPart> parts);

  struct Range {
    std::uintptr_t begin, end;
  };
  std::vector<Range> wanted_;
  std::vector<void*> registered_;
  PinnedMemory gathered_;
};

// All pieces from `first` up to `last`, in one call where `one_call` and the runtime allow it.
struct PieceRange {
  std::size_t first, last;
};
Result<> copy_pieces(const Pieces& pieces, PieceRange range, cudaStream_t stream, bool& one_call);

}  // namespace blksweep
