// The copy stage and the consumer that a cell asks for.
//
// Errors:  Exit::unsupported where the cell needs a GPU and there is none that we can use; else
//          what could not be had (memory here or on the GPU).
// Threads: called where the epoch is prepared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lab/cell.h"
#include "stage/consumer.h"
#include "stage/copy_stage.h"

namespace blksweep {

struct StageRequest {
  const CellSettings& cell;
  Bytes batch_bytes;              // of the largest batch
  std::uint32_t batch_parts = 0;  // samples of the largest batch
  std::span<std::byte> arena;     // the window; outlives the stage
};

// Batches that the accelerator's memory holds: the one in use and those that are on their way.
std::uint32_t device_slots(const CellSettings& cell);

// Slots of the decode ring. A batch holds one until it is consumed, so before a copy stage there is
// one more than on the accelerator: one is decoded while others are copied and computed.
std::uint32_t decode_slots(const CellSettings& cell);

// nullptr: the cell has none.
Result<std::unique_ptr<CopyStage>> make_copy(const StageRequest& request);
Result<std::unique_ptr<Consumer>> make_consumer(const StageRequest& request);

}  // namespace blksweep
