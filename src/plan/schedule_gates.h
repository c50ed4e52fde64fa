// GateWalk: the consumption of an epoch beside its reads, as late as the schedule allows: what
// derives the gates.
//
// A batch is consumed because the prefetch bound says so (before_read), or because whoever gives
// out places has no room (consume, where may_consume). A batch that needs reads which are not
// submitted yet is never waited for.
// Lifetime: borrows everything. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/schedule.h"

namespace blksweep {

// Per batch, how many reads must be complete before ...
struct BatchNeeds {
  std::vector<std::uint32_t> ready;  // it and all batches before it can be consumed (reads_awaited)
  std::vector<std::uint32_t> paced;  // it counts against the prefetch bound
};

// `held`: as Emission.held.
BatchNeeds batch_needs(const Plan& plan, const Schedule& schedule,
                       std::span<const std::uint32_t> held);

// Per batch: how many reads, counted from the first, must be complete before it and all batches
// before it can be consumed.
std::vector<std::uint32_t> reads_awaited(const Plan& plan, const Schedule& schedule);

// Whether a gate may stand before the read: those that are submitted together are never parted.
bool starts_group(const Plan& plan, std::size_t read);

class GateWalk {
 public:
  // `leaves` is told of each batch that is consumed. Gates are added to the schedule.
  GateWalk(const Plan& plan, const ShuffleSettings& settings, const BatchNeeds& needs,
           Schedule& schedule, std::function<void(std::uint32_t)> leaves);

  void before_read(std::uint32_t r);
  // All reads of the next batch are before the gate that the read at hand may have.
  bool may_consume() const { return consumed_ < ready_; }
  void consume();
  std::uint32_t consumed() const { return consumed_; }

 private:
  std::uint32_t batches_before_epoch(std::uint32_t r);

  const Plan& plan_;
  const BatchNeeds& needs_;
  Schedule& schedule_;
  const std::function<void(std::uint32_t)> leaves_;
  const std::uint32_t prefetch_;
  const bool epochs_apart_;
  std::uint32_t ready_ = 0;  // batches whose reads all come before gate_read_
  std::uint32_t paced_ = 0;  // of these, the ones that count against the prefetch bound
  std::uint32_t consumed_ = 0;
  std::size_t ended_ = 0;  // batches of epochs whose reads all come before gate_read_
  std::uint32_t gate_read_ = 0;
};

}  // namespace blksweep
