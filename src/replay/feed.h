// Feed: the reads of a trace (and writes, if asked for) as requests of a target, decoded ahead of
// the loop on a thread of its own, so that no decoding falls between two requests.
//
// Memory:  kChunks chunks of one block of the trace each (128 Ki requests of 64 bytes at most).
// Errors:  of the reader come out of take(). What is left out is counted by reason.
// Stop:    the destructor ends the thread.
// Threads: begin() and take() on the consumer's; `place` is called on the feed's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fifo.h"
#include "base/result.h"
#include "replay/request.h"
#include "trace/trace_file.h"

namespace blksweep {

// A record as a request, offset and bytes of the target; nullptr and a request, or a reason.
using PlaceRequest = std::function<const char*(const TraceRecord&, ReplayRequest&)>;

class Feed {
 public:
  using Chunk = std::vector<ReplayRequest>;
  struct Settings {
    double speed = 1;
    bool writes = false;  // are requests, too
  };
  Feed(TraceReader& trace, const Settings& settings, PlaceRequest place);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Returns when the first chunks are there.
  void begin();
  // Replaces `chunk` (its memory is used again) by the next one; empty: the end. Waits.
  Result<> take(Chunk& chunk);
  // Complete after the end.
  const LeftOut& left_out() const { return left_out_; }

 private:
  static constexpr std::size_t kChunks = 3;
  void run();
  Result<bool> fill(Chunk& chunk);
  void add(const TraceRecord& record, Chunk& chunk);

  TraceReader& trace_;
  const Settings settings_;
  const PlaceRequest place_;
  std::vector<TraceRecord> block_;
  LeftOut left_out_;
  std::uint64_t number_ = 0;
  std::optional<std::int64_t> first_ns_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Fifo<Chunk> ready_;
  std::vector<Chunk> spare_;
  Result<> failed_;
  bool ended_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace blksweep
