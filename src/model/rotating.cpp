#include "model/rotating.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "base/fifo.h"
#include "model/due.h"
#include "model/head.h"
#include "model/track_cache.h"

namespace blksweep {
namespace {

using Stretch = TrackCache::Stretch;

struct Command {
  std::uint64_t tag = 0;
  double eligible = 0;
  Stretch place{};
  bool write = false;
};

class Rotating final : public DiskModel {
 public:
  Rotating(const RotatingSpec& spec, Bytes size)
      : spec_(spec), size_(size.n), head_(spec, size), cache_(spec.cache_segments) {
    inside_.reserve(spec.queue);
  }

  void arrive(std::int64_t now, std::uint64_t tag, const DiskRequest& r) override {
    assert(r.bytes > 0 && r.offset + r.bytes <= size_);
    run(now);
    const std::uint64_t end = r.offset + r.bytes;
    const Stretch place{r.offset, end, head_.revolutions(r.offset), head_.revolutions(end)};
    arrived_.push({tag, static_cast<double>(now) + spec_.overhead_ns, place, r.write});
    run(now);
  }

  std::optional<std::int64_t> next() const override { return due_.next(); }

  void advance(std::int64_t now, std::vector<DiskCompletion>& done) override {
    run(now);
    while (!due_.empty() && *due_.next() <= now) {
      done.push_back(due_.pop());
    }
  }

 private:
  void run(std::int64_t now);
  void become_eligible(const Command& c);
  void enter(const Command& c);
  void choose(double at);
  double positioning(const Head::Place& from, const Command& c) const;
  void serve(double at, const Command& c);
  bool answered_by_cache(double at, const Command& c);
  void go_on_reading_ahead(double at, const Command& c);
  bool in_reach(double at, const Command& c) const;
  bool resumes(double at, const Command& c) const;
  void read_on(double at, const Command& c);
  void read(double at, const Command& c);
  void write(double at, const Command& c);
  double ahead_of(const Command& c, std::uint64_t bytes) const;

  RotatingSpec spec_;
  std::uint64_t size_;
  Head head_;
  TrackCache cache_;
  Fifo<Command> arrived_;        // not eligible yet, or not looked at
  std::vector<Command> inside_;  // oldest first, at most `queue`: the head chooses among these
  Fifo<Command> outside_;
  Due due_;                    // served: the time of completion is known
  double head_free_ = 0;       // end of the last transfer that was asked for
  double interface_free_ = 0;  // end of the last answer from the cache
};

// In the order of time: looks at requests as they become eligible, and chooses whenever the head is
// free. What later arrivals cannot change is decided at once (they become eligible after all that
// are here), so that the completion of whatever is next is always known.
void Rotating::run(std::int64_t now) {
  for (;;) {
    const bool choice = !inside_.empty();
    if (!arrived_.empty() && (!choice || arrived_.front().eligible < head_free_)) {
      become_eligible(arrived_.pop());
    } else if (choice && head_free_ <= static_cast<double>(now)) {
      choose(head_free_);
    } else {
      return;
    }
  }
}

void Rotating::become_eligible(const Command& c) {
  if (answered_by_cache(c.eligible, c)) {
    return;
  }
  if (inside_.empty() && c.eligible >= head_free_) {
    serve(c.eligible, c);
  } else {
    enter(c);
  }
}

void Rotating::enter(const Command& c) {
  if (inside_.size() < spec_.queue) {
    inside_.push_back(c);
  } else {
    outside_.push(c);
  }
}

void Rotating::choose(double at) {
  const Head::Place from = head_.where(at);
  const auto cost = [&](const Command& c) {
    return positioning(from, c) - spec_.ageing * (at - c.eligible);
  };
  const auto best =
      spec_.queue == 1 ? inside_.begin() : std::ranges::min_element(inside_, {}, cost);
  const Command chosen = *best;
  inside_.erase(best);
  if (!outside_.empty()) {
    inside_.push_back(outside_.pop());
  }
  if (!answered_by_cache(at, chosen)) {
    serve(at, chosen);
  }
}

// Until the first byte is under the head; 0 if it is in the buffer.
double Rotating::positioning(const Head::Place& from, const Command& c) const {
  if (!c.write && in_reach(from.at, c)) {
    return std::max(0.0, head_.passes(c.place.begin_rev) - from.at);
  }
  if (!c.write && resumes(from.at, c)) {
    return head_.meets(from, from.byte, from.rev) - from.at;
  }
  return head_.meets(from, static_cast<double>(c.place.begin), c.place.begin_rev) - from.at;
}

void Rotating::serve(double at, const Command& c) {
  if (c.write) {
    write(at, c);
  } else if (in_reach(at, c)) {
    read_on(at, c);
  } else {
    read(at, c);
  }
}

bool Rotating::answered_by_cache(double at, const Command& c) {
  if (c.write) {
    return false;
  }
  const auto where = cache_.find(c.place, head_.place(at), kSamePlace);
  if (where == TrackCache::Where::nowhere) {
    return false;
  }
  const double bytes = static_cast<double>(c.place.end - c.place.begin);
  interface_free_ = std::max(at, interface_free_) + bytes * 1e9 / spec_.interface_rate;
  due_.add(interface_free_, c.tag);
  if (where == TrackCache::Where::active) {
    go_on_reading_ahead(at, c);
  }
  return true;
}

// A reader that follows keeps the stream going. A head that has stopped starts again, in its own
// time, when less than half a segment is left: a slow sequential reader then never waits for it.
void Rotating::go_on_reading_ahead(double at, const Command& c) {
  const double limit = ahead_of(c, spec_.cache_segment.n);
  const std::uint64_t kept = c.place.end - std::min(c.place.end, spec_.cache_segment.n);
  cache_.forget_before(std::min(c.place.begin, kept));
  if (!head_.stopped(at)) {
    head_.extend(limit);
  } else if (limit > head_.limit() && head_.limit() <= ahead_of(c, spec_.cache_segment.n / 2)) {
    const Head::Place from = head_.where(at);
    head_.begin(head_.meets(from, from.byte, from.rev), from.rev, limit);
  }
}

// It begins in what the active segment has, or so near ahead of the streaming head that going on is
// the fastest way there.
bool Rotating::in_reach(double at, const Command& c) const {
  return cache_.active() && c.place.begin >= cache_.active_begin() && !head_.stopped(at) &&
         c.place.begin_rev - head_.place(at) < 1;
}

// The segment has its beginning and the head stands where the rest begins.
bool Rotating::resumes(double at, const Command& c) const {
  return cache_.active() && c.place.begin >= cache_.active_begin() && head_.stopped(at) &&
         c.place.begin_rev <= head_.limit();
}

void Rotating::read_on(double at, const Command& c) {
  go_on_reading_ahead(at, c);
  head_free_ = std::max(at, head_.passes(c.place.end_rev));
  due_.add(head_free_, c.tag);
}

void Rotating::read(double at, const Command& c) {
  const Head::Place from = head_.where(at);
  const double limit = ahead_of(c, spec_.cache_segment.n);
  if (resumes(at, c)) {
    head_.begin(head_.meets(from, from.byte, from.rev), from.rev, limit);
  } else {
    const double begin_rev = c.place.begin_rev;
    cache_.freeze(from.rev);
    cache_.begin(c.place.begin);
    head_.begin(head_.meets(from, static_cast<double>(c.place.begin), begin_rev), begin_rev, limit);
  }
  head_free_ = std::max(at, head_.passes(c.place.end_rev));
  due_.add(head_free_, c.tag);
}

// Through to the medium, and no stream goes on behind it.
void Rotating::write(double at, const Command& c) {
  const Head::Place from = head_.where(at);
  cache_.freeze(from.rev);
  cache_.drop(c.place);
  const double met = head_.meets(from, static_cast<double>(c.place.begin), c.place.begin_rev);
  head_.begin(met, c.place.begin_rev, c.place.end_rev);
  head_free_ = std::max(at, head_.passes(c.place.end_rev));
  due_.add(head_free_, c.tag);
}

double Rotating::ahead_of(const Command& c, std::uint64_t bytes) const {
  return head_.revolutions(c.place.end + std::min(bytes, size_ - c.place.end));
}

}  // namespace

std::unique_ptr<DiskModel> make_rotating(const RotatingSpec& spec, Bytes size) {
  return std::make_unique<Rotating>(spec, size);
}

}  // namespace blksweep
