#include "simulate/sim_queue.h"

#include <algorithm>
#include <cmath>

namespace blksweep {
namespace {

// block/blk-mq.c of Linux 6.18: BLK_MAX_REQUEST_COUNT and BLK_PLUG_FLUSH_SIZE.
constexpr std::size_t kPlugRequests = 32;
constexpr std::uint64_t kPlugFlushBytes = 128U << 10;

template <class T>
std::uint32_t take_index(std::vector<T>& pool, std::vector<std::uint32_t>& unused) {
  if (unused.empty()) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = unused.back();
  unused.pop_back();
  return index;
}

}  // namespace

SimQueue::SimQueue(DiskModel& model, const SimDevice& device, std::uint32_t reads)
    : model_(model), device_(device), pending_(reads) {}

std::int64_t SimQueue::to_model(std::int64_t host) const {
  return device_.speedup == 1 ? host : std::llround(static_cast<double>(host) * device_.speedup);
}

// Rounded up, so that what is waited for has happened.
std::int64_t SimQueue::to_host(std::int64_t model) const {
  return device_.speedup == 1
             ? model
             : static_cast<std::int64_t>(std::ceil(static_cast<double>(model) / device_.speedup));
}

void SimQueue::add(std::int64_t now, std::uint32_t read, std::span<const DiskRange> ranges) {
  pending_[read] = 1;  // held until all pieces are there
  for (const DiskRange& range : ranges) {
    for (std::uint64_t at = 0; at < range.bytes; at += device_.max_request) {
      const std::uint64_t n = std::min<std::uint64_t>(device_.max_request, range.bytes - at);
      add_piece(now, read, {range.begin + at, n});
    }
  }
  if (--pending_[read] == 0) {
    finished_.push_back(read);
  }
}

void SimQueue::add_piece(std::int64_t now, std::uint32_t read, const DiskRange& piece) {
  if (join_newest(read, piece)) {
    ++counts_.merged;
    return;
  }
  if (!plug_.empty()) {
    const Request& newest = requests_[plug_.back()];
    if (plug_.size() >= kPlugRequests || newest.end - newest.begin >= kPlugFlushBytes) {
      flush(now);
    }
  }
  const std::uint32_t index = take_index(requests_, free_requests_);
  requests_[index] = {piece.begin, piece.begin + piece.bytes, 0, kNone, 0};
  share(requests_[index], read);
  plug_.push_back(index);
}

bool SimQueue::join_newest(std::uint32_t read, const DiskRange& piece) {
  if (plug_.empty()) {
    return false;
  }
  Request& newest = requests_[plug_.back()];
  const bool behind = newest.end == piece.begin;
  const bool before = piece.begin + piece.bytes == newest.begin;
  const bool fits = newest.end - newest.begin + piece.bytes <= device_.max_request &&
                    newest.segments < device_.max_segments;
  if (!fits || (!behind && !before)) {
    return false;
  }
  newest.begin = before ? piece.begin : newest.begin;
  newest.end = before ? newest.end : piece.begin + piece.bytes;
  share(newest, read);
  return true;
}

void SimQueue::share(Request& request, std::uint32_t read) {
  const std::uint32_t part = take_index(parts_, free_parts_);
  parts_[part] = {read, request.parts};
  request.parts = part;
  ++request.segments;
  ++pending_[read];
}

void SimQueue::flush(std::int64_t now) {
  if (plug_.empty()) {
    return;
  }
  advance(now, finished_);  // so that busy times begin and end in order
  for (const std::uint32_t index : plug_) {
    arrive(now, index);
  }
  plug_.clear();
}

void SimQueue::arrive(std::int64_t now, std::uint32_t index) {
  Request& r = requests_[index];
  r.arrived = now;
  if (counts_.requests > 0 && r.begin != head_) {
    ++counts_.seeks;
    counts_.seek_bytes += static_cast<double>(std::max(r.begin, head_) - std::min(r.begin, head_));
  }
  head_ = r.end;
  ++counts_.requests;
  counts_.bytes += r.end - r.begin;
  if (inside_++ == 0) {
    busy_since_ = now;
  }
  model_now_ = std::max(model_now_, to_model(now));
  model_.arrive(model_now_, index,
                {.offset = r.begin, .bytes = static_cast<std::uint32_t>(r.end - r.begin)});
}

std::optional<std::int64_t> SimQueue::next() const {
  const auto at = model_.next();
  return at ? std::optional(to_host(*at)) : std::nullopt;
}

void SimQueue::advance(std::int64_t now, std::vector<std::uint32_t>& done) {
  model_now_ = std::max(model_now_, to_model(now));
  if (const auto at = model_.next(); at && to_host(*at) <= now) {
    model_now_ = std::max(model_now_, *at);  // what rounding would leave inside
    completions_.clear();
    model_.advance(model_now_, completions_);
    for (const DiskCompletion& c : completions_) {
      finish(c);
    }
  }
  if (&done != &finished_) {
    done.insert(done.end(), finished_.begin(), finished_.end());
    finished_.clear();
  }
}

void SimQueue::finish(const DiskCompletion& done) {
  const auto index = static_cast<std::uint32_t>(done.tag);
  const Request& r = requests_[index];
  const std::int64_t at = std::max(r.arrived, to_host(done.at_ns));
  counts_.latency.add(static_cast<std::uint64_t>(at - r.arrived));
  counts_.inside_ns += static_cast<double>(at - r.arrived);
  if (--inside_ == 0) {
    counts_.busy_ns += at - busy_since_;
  }
  for (std::uint32_t part = r.parts; part != kNone;) {
    const Part p = parts_[part];
    if (--pending_[p.read] == 0) {
      finished_.push_back(p.read);
    }
    free_parts_.push_back(part);
    part = p.next;
  }
  free_requests_.push_back(index);
}

}  // namespace blksweep
