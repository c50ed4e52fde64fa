// The copy stage and the consumer that the settings ask for.
//
// Errors:  Exit::unsupported where they need a GPU and there is none that we can use; else
//          what could not be had (memory here or on the GPU).
// Threads: called where the epoch is prepared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "loader/settings.h"
#include "stage/consumer.h"
#include "stage/copy_stage.h"
#include "stage/cuda/cuda_stage.h"

namespace blksweep {

struct StageRequest {
  const LoaderSettings& settings;
  Bytes batch_bytes;              // of the largest batch
  std::uint32_t batch_parts = 0;  // samples of the largest batch
  std::span<std::byte> arena;     // the window; outlives the stage
  std::stop_token stop = {};      // wakes emulated stages
};

// Batches that the accelerator's memory holds: the one in use and those that are on their way.
std::uint32_t device_slots(const LoaderSettings& settings);

// Batches that are launched on the consumer and not through: with a copy stage each has a slot;
// without one the next is put behind the one in use.
std::uint32_t launched_ahead(const LoaderSettings& settings);

// Slots of the decode ring. A batch holds one until it is consumed, so before a copy stage there is
// one more than on the accelerator: one is decoded while others are copied and computed.
std::uint32_t decode_slots(const LoaderSettings& settings);

// nullptr: there is none.
Result<std::unique_ptr<CopyStage>> make_copy(const StageRequest& request);
Result<std::unique_ptr<Consumer>> make_consumer(const StageRequest& request);
// Before a sweep: refuses what this node cannot have in any of their runs.
Result<> check_stages(const LoaderSettings& settings);

constexpr bool needs_gpu(const LoaderSettings& settings) {
  return needs_gpu(settings.copy) || needs_gpu(settings.consumer);
}

// Who makes the stages of a run; tests put others in their place.
struct StageMakers {
  std::function<Result<>(const LoaderSettings&)> check = check_stages;
  std::function<bool()> gpu_lost = cuda_context_lost;  // asked after a fault
  std::function<Result<std::unique_ptr<CopyStage>>(const StageRequest&)> copy = make_copy;
  std::function<Result<std::unique_ptr<Consumer>>(const StageRequest&)> consumer = make_consumer;
};

}  // namespace blksweep
