#include "loader/reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/units.h"

namespace blksweep {
namespace {

// A request that comes back this often without a new granule makes no progress: it has failed.
constexpr std::uint32_t kMostStalls = 1024;  // EAGAIN, EINTR
constexpr std::uint32_t kShortStall = 32;    // a read that is short at the same place weighs more

}  // namespace

Reader::Reader(const ReaderInputs& in)
    : in_(in),
      readiness_(in.plan, in.schedule, in.handoff),
      flights_(in.depth),
      completions_(in.depth) {
  for (std::uint32_t tag = in.depth; tag > 0; --tag) {
    free_tags_.push_back(tag - 1);
  }
  group_.reserve(in.depth);
  waits_.reserve(in.schedule.gates.size());
}

Result<> Reader::run(const std::atomic<bool>& stop) {
  publish(now_ns());
  while (reads_left() || in_flight() > 0) {
    const bool stopping = stop.load(std::memory_order_relaxed) || in_.handoff.stopping();
    if (stopping && in_flight() == 0) {
      break;
    }
    if (!stopping) {
      BLKSWEEP_CHECK(fill());
    }
    if (in_flight() > 0) {
      BLKSWEEP_CHECK(drain());
    } else if (retries_.empty() && !gate_open()) {
      wait_for_memory();
    }
  }
  return {};
}

void Reader::wait_for_memory() {
  const std::uint32_t batches = in_.schedule.gates[next_gate_].consumed_batches;
  const std::int64_t begin = now_ns();
  in_.handoff.consumed.wait_for(batches);
  waits_.push_back({{begin, now_ns()}, batches});
}

// The gate in front of the next read, if there is one, asks for batches that are consumed already.
bool Reader::gate_open() {
  const auto& gates = in_.schedule.gates;
  while (next_gate_ < gates.size() && gates[next_gate_].read <= next_read_) {
    if (in_.handoff.consumed.value() < gates[next_gate_].consumed_batches) {
      return false;
    }
    ++next_gate_;
  }
  return true;
}

// merge=kernel hands over whole groups, so that the plug sees neighbours together.
std::uint32_t Reader::group_limit() const {
  const auto room = static_cast<std::uint32_t>(free_tags_.size());
  const std::uint32_t batch = in_.plan.submit_batch;
  return batch > 0 && room < batch && in_flight() > 0 ? 0 : room;
}

Result<> Reader::fill() {
  std::uint32_t room = group_limit();
  while (room > 0 && !retries_.empty()) {
    const PieceRange range = retries_.back();
    retries_.pop_back();
    BLKSWEEP_CHECK(take(range));
    room = static_cast<std::uint32_t>(free_tags_.size());
  }
  while (room > 0 && next_read_ < in_.plan.reads.size() && gate_open()) {
    const std::uint32_t r = next_read_++;
    BLKSWEEP_CHECK(take({r, in_.plan.first_piece[r], in_.plan.first_piece[r + 1]}));
    room = static_cast<std::uint32_t>(free_tags_.size());
  }
  counts_.groups_cut += room > 0 && !group_.empty() && next_read_ < in_.plan.reads.size() ? 1U : 0U;
  return submit_group();
}

void Reader::fill_zeros(const PieceRange& range) {
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    std::memset(in_.scatter.place(in_.plan.pieces[i]), 0, in_.plan.pieces[i].length);
  }
  const std::int64_t now = now_ns();
  readiness_.complete(range, now);
  publish(now);
}

// The slot, or -errno. What is in the group goes first when it needs the slot for another file.
Result<int> Reader::slot_of(std::uint32_t read) {
  if (in_.plan.reads[read].source == kFromDevice) {
    return 0;
  }
  if (in_.files.must_flush_before(read)) {
    BLKSWEEP_CHECK(submit_group());
  }
  return in_.files.slot_of(read);
}

// Turns a range into a request of the group, or finishes it at once (holes, files that do not
// open).
Result<> Reader::take(const PieceRange& range) {
  const Read& read = in_.plan.reads[range.read];
  if (read.source == kZeros) {
    fill_zeros(range);
    return {};
  }
  const std::uint32_t tag = free_tags_.back();
  free_tags_.pop_back();
  const Piece& first = in_.plan.pieces[range.begin];
  const Piece& last = in_.plan.pieces[range.end - 1];
  Flight& f = flights_[tag];
  f.range = range;
  f.offset = read.offset + first.read_offset;
  f.length = last.read_offset + last.length - first.read_offset;
  f.done = 0;
  f.stalls = 0;
  f.submit_ns = 0;
  return queue(tag);
}

// Puts what is left of a flight into the group, or fails it when its file cannot be opened (again).
Result<> Reader::queue(std::uint32_t tag) {
  Flight& f = flights_[tag];
  BLKSWEEP_TRY(const int slot, slot_of(f.range.read));
  if (slot < 0) {
    free_tags_.push_back(tag);
    fail(f.range, -slot, now_ns());
    return {};
  }
  if (f.submit_ns == 0) {
    ++counts_.submitted;
    counts_.submitted_bytes += f.length;
  }
  f.iov = Scatter::advance(in_.scatter.build(tag, f.range.begin, f.range.end), f.done);
  group_.push_back({f.offset + f.done, f.iov.data(), static_cast<std::uint32_t>(f.iov.size()),
                    static_cast<std::uint32_t>(slot), tag});
  return {};
}

Result<> Reader::submit_group() {
  BLKSWEEP_CHECK(in_.files.flush(in_.engine));
  if (group_.empty()) {
    return {};
  }
  const std::int64_t now = now_ns();
  for (const ReadRequest& r : group_) {
    Flight& f = flights_[r.tag];
    if (f.submit_ns == 0) {
      f.submit_ns = now;
      readiness_.submitted(f.range, now);
    }
  }
  const Result<> submitted = in_.engine.submit(group_);
  group_.clear();
  return submitted;
}

// As many completions as make room for a refill, and no more, though more may be there: the groups
// that the device sees are a setting, not a consequence of its speed nor of how many completions
// the kernel hands over at once. 0: nothing more can be submitted, or the queue is short.
std::size_t Reader::refill_target() const {
  const std::uint32_t group = std::max(in_.refill, in_.plan.submit_batch);
  const std::uint32_t keep = in_.depth - std::min(in_.depth, group);
  const bool more = next_read_ < in_.plan.reads.size();
  return more && in_flight() > keep ? in_flight() - keep : 0;
}

Result<> Reader::drain() {
  const std::size_t target = refill_target();
  const std::size_t most = target > 0 ? target : completions_.size();
  BLKSWEEP_TRY(const std::size_t n, in_.engine.reap(std::span(completions_).first(most),
                                                    std::max<std::size_t>(1, target)));
  const std::int64_t now = now_ns();
  for (std::size_t i = 0; i < n; ++i) {
    BLKSWEEP_CHECK(finish(completions_[i], now));
  }
  publish(now);
  return submit_group();  // rests of short reads
}

bool Reader::at_end_of_file(const Flight& f) const {
  const std::uint32_t source = in_.plan.reads[f.range.read].source;
  return source != kFromDevice && f.offset + f.done >= in_.catalog.files[source].size;
}

Result<> Reader::finish(const Completion& c, std::int64_t now) {
  Flight& f = flights_[c.tag];
  if (c.result == -EAGAIN || c.result == -EINTR) {
    return resubmit(c, now);
  }
  const std::uint32_t before = f.done;
  f.done += c.result > 0 ? static_cast<std::uint32_t>(c.result) : 0;
  const bool whole = f.done >= f.length || (c.result >= 0 && at_end_of_file(f));
  if (!whole && c.result > 0) {
    ++counts_.short_reads;
    // Only whole granules count as read, so that the rest is aligned again.
    f.done = static_cast<std::uint32_t>(align_down(f.done, in_.align));
    f.stalls = f.done > before ? 0 : f.stalls;
    return resubmit(c, now);
  }
  free_tags_.push_back(c.tag);
  if (whole) {
    latency_.add(static_cast<std::uint64_t>(now - f.submit_ns));
    readiness_.complete(f.range, now);
  } else {
    fail(f.range, -c.result, now);
  }
  return {};
}

// A direct read that ends inside a granule at the same place each time has met the file's end.
Result<> Reader::resubmit(const Completion& c, std::int64_t now) {
  Flight& f = flights_[c.tag];
  f.stalls += c.result > 0 ? kShortStall : 1;
  if (f.stalls <= kMostStalls) {
    return queue(c.tag);
  }
  free_tags_.push_back(c.tag);
  fail(f.range, c.result > 0 ? 0 : -c.result, now);
  return {};
}

void Reader::fail(const PieceRange& range, int error, std::int64_t now) {
  ++counts_.io_errors;
  if (range.end - range.begin == 1) {
    const bool device = in_.plan.reads[range.read].source == kFromDevice;
    readiness_.fail(range, error == 0 && device ? EIO : error, now);
    publish(now);
    return;
  }
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    retries_.push_back({range.read, i, i + 1});
  }
}

void Reader::publish(std::int64_t now) {
  if (readiness_.publish(now) && in_.on_ready) {
    in_.on_ready();
  }
}

}  // namespace blksweep
