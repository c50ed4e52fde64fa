#include "loader/plan_source.h"

#include <cerrno>
#include <utility>

namespace blksweep {

WantedRead wanted_of(const Plan& plan, const PieceRange& range) {
  const Piece& first = plan.pieces[range.begin];
  const Piece& last = plan.pieces[range.end - 1];
  return {plan.reads[range.read].offset + first.read_offset,
          last.read_offset + last.length - first.read_offset};
}

PlanSource::PlanSource(PlanSourceInputs in, unsigned depth)
    : in_(std::move(in)), readiness_(in_.plan, in_.schedule, in_.handoff), range_of_(depth) {
  waits_.reserve(in_.schedule.gates.size());
}

ReadSource::Next PlanSource::next(std::uint32_t tag, WantedRead& wanted) {
  if (in_.handoff.stopping()) {
    return Next::end;
  }
  PieceRange& range = range_of_[tag];
  if (!take(range)) {
    return more() ? Next::blocked : Next::end;
  }
  wanted = wanted_of(in_.plan, range);
  return Next::request;
}

// Failed pieces first: a gate may wait for their batch. Holes need no request.
bool PlanSource::take(PieceRange& range) {
  if (!retries_.empty()) {
    range = retries_.back();
    retries_.pop_back();
    return true;
  }
  while (more() && gate_open()) {
    const std::uint32_t r = next_read_++;
    range = {r, in_.plan.first_piece[r], in_.plan.first_piece[r + 1]};
    if (in_.plan.reads[r].source != kZeros) {
      return true;
    }
    fill_zeros(range);
  }
  return false;
}

// The gate in front of the next read, if there is one, asks for batches that are consumed already.
bool PlanSource::gate_open() {
  const auto& gates = in_.schedule.gates;
  while (next_gate_ < gates.size() && gates[next_gate_].read <= next_read_) {
    if (in_.handoff.consumed.value() < gates[next_gate_].consumed_batches) {
      return false;
    }
    ++next_gate_;
  }
  return true;
}

Result<> PlanSource::wait() {
  const std::uint32_t batches = in_.schedule.gates[next_gate_].consumed_batches;
  const std::int64_t begin = in_.clock.now();
  BLKSWEEP_CHECK(in_.until_consumed(batches));
  waits_.push_back({{begin, in_.clock.now()}, batches});
  return {};
}

void PlanSource::fill_zeros(const PieceRange& range) {
  in_.ends.zero(range);
  const std::int64_t now = in_.clock.now();
  readiness_.complete(range, now);
  settle(now);
}

void PlanSource::submitted(std::span<const ReadRequest> group, std::int64_t now) {
  for (const ReadRequest& r : group) {
    readiness_.submitted(range_of_[r.tag], now);
  }
}

// At the end of its file.
bool PlanSource::ends_after(std::uint32_t tag, std::uint32_t done) const {
  const PieceRange& range = range_of_[tag];
  const std::uint32_t source = in_.plan.reads[range.read].source;
  return source != kFromDevice &&
         wanted_of(in_.plan, range).offset + done >= in_.catalog.files[source].size;
}

void PlanSource::complete(const ReadDone& done) {
  latency_.add(static_cast<std::uint64_t>(done.now - done.submit_ns));
  readiness_.complete(range_of_[done.tag], done.now);
}

void PlanSource::fail(std::uint32_t tag, int error, std::int64_t now) {
  const PieceRange& range = range_of_[tag];
  if (range.end - range.begin == 1) {
    const bool device = in_.plan.reads[range.read].source == kFromDevice;
    readiness_.fail(range, error == 0 && device ? EIO : error, now);
    settle(now);
    return;
  }
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    retries_.push_back({range.read, i, i + 1});
  }
}

void PlanSource::settle(std::int64_t now) {
  if (readiness_.publish(now) && in_.on_ready) {
    in_.on_ready();
  }
}

}  // namespace blksweep
