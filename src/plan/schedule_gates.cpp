#include "plan/schedule_gates.h"

#include <algorithm>
#include <utility>

namespace blksweep {

namespace {

// Per parcel: how many reads, counted from the first, must be complete before it is.
std::vector<std::uint32_t> reads_needed(const Plan& plan) {
  std::vector<std::uint32_t> needed(plan.parcel_bytes.size());
  for (std::uint32_t r = 0; r < plan.reads.size(); ++r) {
    for (std::uint32_t i = plan.first_piece[r]; i < plan.first_piece[r + 1]; ++i) {
      needed[plan.pieces[i].parcel] = r + 1;
    }
  }
  return needed;
}

std::vector<std::uint32_t> awaited(const Plan& plan, const Schedule& schedule,
                                   const std::vector<std::uint32_t>& needed) {
  std::vector<std::uint32_t> of_batch;
  std::uint32_t most = 0;
  for (std::size_t b = 0; b < schedule.batches(); ++b) {
    schedule.for_each_awaited(plan, b, [&](std::uint32_t position) {
      most = std::max(most, needed[plan.parcel_of(position)]);
    });
    of_batch.push_back(most);
  }
  return of_batch;
}

}  // namespace

std::vector<std::uint32_t> reads_awaited(const Plan& plan, const Schedule& schedule) {
  return awaited(plan, schedule, reads_needed(plan));
}

// A batch counts once as many samples have been read as were emitted with it, plus those that the
// window holds: at the end of an epoch it is ready much earlier, but then the window drains.
BatchNeeds batch_needs(const Plan& plan, const Schedule& schedule,
                       std::span<const std::uint32_t> held_of) {
  const std::vector<std::uint32_t> needed = reads_needed(plan);
  const std::size_t epoch = std::max(plan.of_epoch(), 1U);
  BatchNeeds out{awaited(plan, schedule, needed), {}};
  std::uint32_t paced = 0;
  std::size_t read = 0;
  for (std::size_t b = 0; b < schedule.batches(); ++b) {
    const std::size_t held = held_of[schedule.batch_begin[b] / epoch];
    for (; read < std::min(schedule.batch_begin[b + 1] + held, plan.order.size()); ++read) {
      paced = std::max(paced, needed[plan.parcel_of(static_cast<std::uint32_t>(read))]);
    }
    out.paced.push_back(std::max(out.ready[b], paced));
  }
  return out;
}

bool starts_group(const Plan& plan, std::size_t read) {
  return plan.submit_batch == 0 || read % plan.submit_batch == 0;
}

GateWalk::GateWalk(const Plan& plan, const ShuffleSettings& settings, const BatchNeeds& needs,
                   Schedule& schedule, std::function<void(std::uint32_t)> leaves)
    : plan_(plan),
      needs_(needs),
      schedule_(schedule),
      leaves_(std::move(leaves)),
      prefetch_(settings.prefetch),
      epochs_apart_(settings.epochs_apart) {}

void GateWalk::before_read(std::uint32_t r) {
  if (!starts_group(plan_, r)) {
    return;
  }
  gate_read_ = r;
  while (ready_ < needs_.ready.size() && needs_.ready[ready_] <= r) {
    ++ready_;
  }
  while (paced_ < needs_.paced.size() && needs_.paced[paced_] <= r) {
    ++paced_;
  }
  while (std::uint64_t{consumed_} + prefetch_ < paced_) {
    consume();
  }
  while (epochs_apart_ && consumed_ < batches_before_epoch(r)) {
    consume();
  }
}

// Batches of the epochs that are read completely before read r.
std::uint32_t GateWalk::batches_before_epoch(std::uint32_t r) {
  const std::size_t of_epoch = schedule_.batches() / plan_.epochs;
  while (ended_ + of_epoch <= needs_.ready.size() && needs_.ready[ended_ + of_epoch - 1] <= r) {
    ended_ += of_epoch;
  }
  return static_cast<std::uint32_t>(ended_);
}

void GateWalk::consume() {
  const std::uint32_t b = consumed_++;
  leaves_(b);
  if (!schedule_.gates.empty() && schedule_.gates.back().read == gate_read_) {
    schedule_.gates.back().consumed_batches = consumed_;
  } else {
    schedule_.gates.push_back({gate_read_, consumed_});
  }
}

}  // namespace blksweep
