#include "replay/feed.h"

#include <utility>

#include "replay/background.h"
#include "replay/survey.h"

namespace blksweep {
namespace {

const char* reason_of(TraceOp op) {
  switch (op) {
    case TraceOp::read:
      return "reads";
    case TraceOp::write:
      return "writes";
    case TraceOp::discard:
      return "discards";
    case TraceOp::flush:
      return "flushes";
    case TraceOp::other:
      break;
  }
  return "other";
}

}  // namespace

Feed::Feed(TraceReader& trace, const Settings& settings, PlaceRequest place)
    : trace_(trace), settings_(settings), place_(std::move(place)), spare_(kChunks) {}

Feed::~Feed() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Feed::begin() {
  thread_ = std::thread([this] {
    give_way();
    run();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || spare_.empty(); });
}

void Feed::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !spare_.empty(); });
    if (stop_) {
      return;
    }
    Chunk chunk = std::move(spare_.back());
    spare_.pop_back();
    lock.unlock();
    const Result<bool> some = fill(chunk);
    lock.lock();
    if (!some || !*some) {
      failed_ = some ? Result<>{} : tl::unexpected(some.error());
      ended_ = true;
      changed_.notify_all();
      return;
    }
    ready_.push(std::move(chunk));
    changed_.notify_all();
  }
}

Result<bool> Feed::fill(Chunk& chunk) {
  for (chunk.clear(); chunk.empty();) {
    BLKSWEEP_TRY(const bool some, trace_.next(block_));
    if (!some) {
      return false;
    }
    for (const TraceRecord& r : block_) {
      add(r, chunk);
    }
  }
  return true;
}

void Feed::add(const TraceRecord& record, Chunk& chunk) {
  ReplayRequest request;
  const bool replayed = is_replayed(record.op, settings_.writes);
  const char* reason = replayed ? nullptr : reason_of(record.op);
  reason = replayed && record.bytes == 0 ? kEmptyRequests : reason;
  reason = reason == nullptr ? place_(record, request) : reason;
  if (reason != nullptr) {
    ++left_out_[reason];
    return;
  }
  if (!first_ns_) {
    first_ns_ = record.time_ns;
  }
  request.recorded_ns =
      static_cast<std::int64_t>(static_cast<double>(record.time_ns - *first_ns_) / settings_.speed);
  request.latency_ns = record.latency_ns;
  request.place = record.place;
  request.thread = record.thread;
  request.write = record.op == TraceOp::write;
  request.number = number_++;
  chunk.push_back(request);
}

Result<> Feed::take(Chunk& chunk) {
  std::unique_lock lock(mutex_);
  if (chunk.capacity() > 0) {
    chunk.clear();
    spare_.push_back(std::move(chunk));
    chunk = {};
    changed_.notify_all();
  }
  changed_.wait(lock, [this] { return ended_ || !ready_.empty(); });
  if (!ready_.empty()) {
    chunk = ready_.pop();
    return {};
  }
  return failed_;
}

}  // namespace blksweep
