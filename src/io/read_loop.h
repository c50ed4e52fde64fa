// ReadLoop: keeps requests of a source in flight on an engine. The one loop that reads: runs,
// ceilings, latency maps and predictions differ in the source, the engine and the clock.
//
// Submits in groups, waits for as many completions as make a refill, asks again for the rest of
// short reads, and fails a read that brings nothing again and again. Nothing is allocated in run().
//
// Errors:  a read that fails is told to the source; an Error means that the loop cannot go on, and
//          comes from the engine or the source.
// Stop:    run() returns early, with nothing in flight, once `stop` is set.
// Threads: run() on the thread that made the engine; it calls the source on that thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/engine.h"

namespace blksweep {

// The host's time, or that of a simulation; ns.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now() = 0;
  virtual void wait_until(std::int64_t when) = 0;
};
Clock& host_clock();  // CLOCK_MONOTONIC

struct WantedRead {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::int64_t due = 0;  // not submitted before; 0: at once
};

// What is left of a read: the slot of its file, and its memory, valid until it has completed.
struct ReadAim {
  static constexpr int kSubmitFirst = -4096;  // no errno: what is in the group needs the slot
  int slot = 0;                               // or -errno, or kSubmitFirst
  std::span<const iovec> iov{};
  bool write = false;
};

struct ReadDone {
  std::uint32_t tag, bytes;
  std::int64_t submit_ns, now;  // first submitted; seen as complete
};

// What is to be read, and what becomes of it. A read has its tag, below the depth, from next()
// until complete() or fail(), or the end of the loop.
class ReadSource {
 public:
  enum class Next { request, blocked, end };
  virtual ~ReadSource() = default;

  // blocked: not before wait(), or before something completes.
  virtual Next next(std::uint32_t tag, WantedRead& wanted) = 0;
  // A request that is not due yet may be exchanged for one that is due before it: true.
  virtual bool earlier(std::uint32_t /*tag*/, WantedRead& /*wanted*/) { return false; }
  // There will be requests even if none fails: it is worth waiting for a whole refill.
  virtual bool more() const = 0;
  // Nothing is in flight and next() was blocked.
  virtual Result<> wait() { return {}; }
  // After `done` bytes of the read have come. kSubmitFirst: to be asked once more, after a flush.
  virtual ReadAim aim(std::uint32_t tag, std::uint32_t done) = 0;
  // Before each submission: slots that aim() named must be with the engine.
  virtual Result<> flush() { return {}; }
  virtual void submitted(std::span<const ReadRequest> /*group*/, std::int64_t /*now*/) {}
  // A read that ended after `done` bytes is short for good: its rest is not asked for.
  virtual bool ends_after(std::uint32_t /*tag*/, std::uint32_t /*done*/) const { return true; }
  virtual void complete(const ReadDone& done) = 0;
  // errno; 0: it stays short.
  virtual void fail(std::uint32_t tag, int error, std::int64_t now) = 0;
  // Before the first request, and after all completions that came together.
  virtual void settle(std::int64_t /*now*/) {}
};

struct ReadLoopSettings {
  unsigned depth = 32;
  unsigned refill = 0;        // completions before more is submitted; 0: all that are there
  std::uint32_t group = 0;    // > 0: submitted as whole groups of so many
  std::uint32_t align = 512;  // granule of the rest of a short read
  bool backwards = false;     // each group is submitted from its last to its first
};

struct ReadCounts {
  std::uint64_t submitted = 0, submitted_bytes = 0, short_reads = 0, io_errors = 0;
  std::uint64_t groups_cut = 0;  // submissions that a blocked source ended early
};

class ReadLoop {
 public:
  ReadLoop(ReadSource& source, Engine& engine, Clock& clock, const ReadLoopSettings& settings);
  Result<> run(const std::atomic<bool>* stop);  // nullptr: nobody stops it
  const ReadCounts& counts() const { return counts_; }

 private:
  static constexpr std::int64_t kNever = -1;
  struct Flight {
    WantedRead wanted;
    std::uint32_t done = 0;
    std::uint32_t stalls = 0;         // submissions in a row that brought nothing
    std::int64_t submit_ns = kNever;  // of the first submission
  };

  Result<> fill();
  bool room_for_group() const;
  bool hold_next();
  void wait_until_due(const std::atomic<bool>* stop);
  Result<> queue(std::uint32_t tag);
  Result<> submit_group();
  Result<> drain();
  std::size_t refill_target() const;
  Result<> finish(const Completion& c, std::int64_t now);
  Result<> resubmit(const Completion& c, std::int64_t now);
  void fail(std::uint32_t tag, int error, std::int64_t now);
  std::size_t room() const { return free_tags_.size() + (held_ ? 1U : 0U); }
  std::size_t in_flight() const { return flights_.size() - room(); }
  std::int64_t due() const { return held_ ? flights_[*held_].wanted.due : kForever; }

  ReadSource& source_;
  Engine& engine_;
  Clock& clock_;
  const ReadLoopSettings settings_;
  std::vector<Flight> flights_;  // by tag
  std::vector<std::uint32_t> free_tags_;
  std::optional<std::uint32_t> held_;  // tag of the next request, which may not be due yet
  std::vector<ReadRequest> group_;     // to be submitted together
  std::vector<Completion> completions_;
  ReadSource::Next next_ = ReadSource::Next::request;  // what the source said last
  ReadCounts counts_;
};

}  // namespace blksweep
