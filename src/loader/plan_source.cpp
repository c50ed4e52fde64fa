#include "loader/plan_source.h"

#include <algorithm>
#include <cerrno>

#include "loader/tracepoints.h"

namespace blksweep {

PlanSource::PlanSource(const Catalog& catalog, const Plan& plan, const Schedule& schedule,
                       Handoff& handoff, Clock& clock, unsigned depth)
    : catalog_(catalog),
      plan_(plan),
      gates_(schedule.gates),
      handoff_(handoff),
      clock_(clock),
      readiness_(plan, schedule, handoff),
      range_of_(depth),
      begins_submission_(plan.reads.size()) {
  waits_.reserve(gates_.size());
}

WantedRead PlanSource::wanted_of(const PieceRange& range) const {
  const Piece& first = plan_.pieces[range.begin];
  const Piece& last = plan_.pieces[range.end - 1];
  return {plan_.reads[range.read].offset + first.read_offset,
          last.read_offset + last.length - first.read_offset};
}

ReadSource::Next PlanSource::next(std::uint32_t tag, WantedRead& wanted) {
  if (handoff_.stopping()) {
    return Next::end;
  }
  PieceRange& range = range_of_[tag];
  if (!take(range)) {
    return more() ? Next::blocked : Next::end;
  }
  wanted = wanted_of(range);
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
    range = {r, plan_.first_piece[r], plan_.first_piece[r + 1]};
    if (plan_.reads[r].source != kZeros) {
      return true;
    }
    zero(range);
    const std::int64_t now = clock_.now();
    readiness_.complete(range, now);
    settle(now);
  }
  return false;
}

// The gate in front of the next read, if there is one, asks for batches that are consumed already.
bool PlanSource::gate_open() {
  while (next_gate_ < gates_.size() && gates_[next_gate_].read <= next_read_) {
    if (handoff_.consumed.value() < gates_[next_gate_].consumed_batches) {
      return false;
    }
    ++next_gate_;
  }
  return true;
}

Result<> PlanSource::wait() {
  const std::uint32_t batches = gates_[next_gate_].consumed_batches;
  const std::int64_t begin = clock_.now();
  DTRACE_PROBE1(blksweep, gate_wait, batches);
  BLKSWEEP_CHECK(until_consumed(batches));
  const std::int64_t end = clock_.now();
  DTRACE_PROBE2(blksweep, gate_open, batches, end - begin);
  waits_.push_back({{begin, end}, batches});
  return {};
}

void PlanSource::submitted(std::span<const ReadRequest> group, std::int64_t now) {
  for (const ReadRequest& r : group) {
    const PieceRange& range = range_of_[r.tag];
    DTRACE_PROBE4(blksweep, read_submit, range.read, plan_.reads[range.read].source, r.offset,
                  wanted_of(range).length);
    readiness_.submitted(range, now);
  }
  const auto begins = std::ranges::find_if(group, [this](const ReadRequest& r) {
    return r.offset == wanted_of(range_of_[r.tag]).offset;  // no rest of a short read
  });
  if (begins != group.end()) {
    begins_submission_[range_of_[begins->tag].read] = true;
  }
}

std::vector<std::uint32_t> PlanSource::submissions() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t r = 0; r < begins_submission_.size(); ++r) {
    if (begins_submission_[r]) {
      out.push_back(r);
    }
  }
  return out;
}

// At the end of its file.
bool PlanSource::ends_after(std::uint32_t tag, std::uint32_t done) const {
  const PieceRange& range = range_of_[tag];
  const std::uint32_t source = plan_.reads[range.read].source;
  return source != kFromDevice && wanted_of(range).offset + done >= catalog_.files[source].size;
}

void PlanSource::complete(const ReadDone& done) {
  const std::int64_t latency = done.now - done.submit_ns;
  DTRACE_PROBE3(blksweep, read_complete, range_of_[done.tag].read, done.bytes, latency);
  latency_.add(static_cast<std::uint64_t>(latency));
  arrived(done.tag);
  readiness_.complete(range_of_[done.tag], done.now);
}

void PlanSource::fail(std::uint32_t tag, int error, std::int64_t now) {
  const PieceRange& range = range_of_[tag];
  if (range.end - range.begin == 1) {
    DTRACE_PROBE2(blksweep, read_fail, range.read, error);
    const bool device = plan_.reads[range.read].source == kFromDevice;
    readiness_.fail(range, error == 0 && device ? EIO : error, now);
    settle(now);
    return;
  }
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    retries_.push_back({range.read, i, i + 1});
  }
}

void PlanSource::settle(std::int64_t now) {
  if (readiness_.publish(now)) {
    published();
  }
}

}  // namespace blksweep
