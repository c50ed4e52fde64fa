#include "replay/replay_source.h"

namespace blksweep {

ReplaySource::ReplaySource(const ReplayFlow& flow, ReplayRecord& record)
    : flow_(flow), record_(record), flights_(flow.depth), iov_(flow.depth) {
  for (unsigned slot = 0; slot < flow.depth; ++slot) {
    free_since_.push(0);
  }
}

void ReplaySource::want(const ReplayRequest& request, WantedRead& wanted) const {
  const std::int64_t due = flow_.timed ? flow_.begin_ns + request.due_ns : 0;
  wanted = {request.offset, request.bytes, due};
}

ReadSource::Next ReplaySource::next(std::uint32_t tag, WantedRead& wanted) {
  Flight& f = flights_[tag];
  f.issued_ns = kNotIssued;
  switch (flow_.order.next(f.request)) {
    case RequestOrder::Next::blocked:
      return Next::blocked;
    case RequestOrder::Next::end:
      over_ = true;
      return Next::end;
    case RequestOrder::Next::request:
      break;
  }
  f.room_ns = free_since_.pop();
  want(f.request, wanted);
  return Next::request;
}

bool ReplaySource::earlier(std::uint32_t tag, WantedRead& wanted) {
  const bool exchanged = flow_.order.earlier(flights_[tag].request);
  if (exchanged) {
    want(flights_[tag].request, wanted);
  }
  return exchanged;
}

ReadAim ReplaySource::aim(std::uint32_t tag, std::uint32_t done) {
  const ReplayRequest& r = flights_[tag].request;
  const std::size_t place = flow_.memory.size() / flow_.depth;
  std::byte* bytes = r.write ? flow_.written.data() : flow_.memory.data() + place * tag;
  iov_[tag] = {bytes + done, r.bytes - done};
  return {flow_.files.slot_of(r.place), {&iov_[tag], 1}, r.write};
}

void ReplaySource::handed_over(const ReadRequest& request, const HandOver& at) {
  Flight& f = flights_[request.tag];
  if (f.issued_ns == kNotIssued) {  // else the rest of a short read
    f.issued_ns = at.issued_ns - flow_.begin_ns;
    f.begun_ns = at.begun_ns - flow_.begin_ns;
    const std::int64_t due = flow_.timed ? f.request.due_ns : f.room_ns;
    record_.issued(f.request, {due, f.room_ns, f.issued_ns});
  }
}

// What depends on it counts from before we saw it: if we saw it late, what follows is late.
void ReplaySource::ended(std::uint32_t tag) {
  const std::int64_t free_since = flow_.room_since() - flow_.begin_ns;
  free_since_.push(free_since);
  flow_.order.completed(flights_[tag].request, free_since);
  if (flow_.progress != nullptr) {
    flow_.progress->fetch_add(1, std::memory_order_relaxed);
  }
}

void ReplaySource::keep(std::uint32_t tag, std::int64_t now, bool failed) {
  const Flight& f = flights_[tag];
  if (f.request.number < flow_.timeline.size()) {
    flow_.timeline[f.request.number] = {f.request, tag, f.room_ns, f.issued_ns, now, failed};
  }
}

bool ReplaySource::is_short(const ReplayRequest& request, std::uint32_t bytes) const {
  return std::uint64_t{bytes} + flow_.align <= request.bytes;
}

void ReplaySource::complete(const ReadDone& done) {
  const ReplayRequest& r = flights_[done.tag].request;
  short_ += is_short(r, done.bytes) ? 1U : 0U;
  const std::int64_t now = done.now - flow_.begin_ns;
  record_.completed(r, {done.bytes, now - flights_[done.tag].begun_ns, now});
  keep(done.tag, now, false);
  ended(done.tag);
}

void ReplaySource::fail(std::uint32_t tag, int error, std::int64_t now) {
  last_error_ = error;
  keep(tag, now - flow_.begin_ns, true);
  record_.failed();
  ended(tag);
}

}  // namespace blksweep
