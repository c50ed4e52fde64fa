// What a batch becomes on its way to the GPU: pieces of host memory that copies may read from, one
// behind the other in the slot; and the calls that copy them.
//
// Ownership: StagedBatch holds what was registered or allocated for this batch alone; release() it
//            only when its copies are through.
// Threads:   the copy thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stage/copy_stage.h"
#include "stage/cuda/device_cuda.h"
#include "stage/cuda/pieces.h"
#include "stage/stage_settings.h"

namespace blksweep {

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

// How the copies of a stage were issued, for the record.
struct CopyCalls {
  bool one_call = true;  // wanted, and not refused so far
  std::uint64_t batch_calls = 0, single_calls = 0;
  std::string refusal;  // why cuMemcpyBatchAsync was given up; empty: it was not

  std::string words() const;
};

struct CopyRange {
  std::size_t first, last;
};
// All pieces from `first` up to `last`, in one call where `calls` and the driver allow it.
Result<> copy_pieces(const Pieces& pieces, CopyRange range, CUstream stream, CopyCalls& calls);

}  // namespace blksweep
