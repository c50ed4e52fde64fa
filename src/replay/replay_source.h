// ReplaySource: the requests of an order as a source of the read loop, and what became of them.
//
// Memory:  each request in flight has a place of its own, as large as the largest; all writes write
//          the same bytes.
// Files:   through TargetFiles (a device is one).
// Room:    a request takes the slot that has been free for the longest, whatever its tag: what was
//          late with a slot free all along is not the device's fault.
// Times:   relative to `begin_ns`, which set_begin() gives before the loop runs.
// Lifetime: borrows everything.
// Threads: one owner.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "io/read_loop.h"
#include "replay/certificate.h"
#include "replay/request.h"
#include "replay/target_files.h"

namespace blksweep {

struct ReplayFlow {
  RequestOrder& order;
  TargetFiles& files;
  Engine& engine;
  std::span<std::byte> memory;     // of the reads: depth places
  std::span<std::byte> written{};  // what writes write; at least as large as the largest
  unsigned depth = 1;
  std::uint32_t align = 1;  // a read may end within the last so many bytes: its file does
  bool timed = true;        // requests have a time at which they are due
  std::int64_t begin_ns = 0;
  std::function<std::int64_t()> room_since;        // as spin.h has it, after completions
  std::atomic<std::uint64_t>* progress = nullptr;  // completed
  std::span<RequestTimes> timeline{};              // by number; of the first ones
};

class ReplaySource final : public ReadSource {
 public:
  ReplaySource(const ReplayFlow& flow, ReplayRecord& record);

  Next next(std::uint32_t tag, WantedRead& wanted) override;
  bool earlier(std::uint32_t tag, WantedRead& wanted) override;
  bool more() const override { return !over_; }
  Result<> wait() override { return flow_.order.wait(); }
  ReadAim aim(std::uint32_t tag, std::uint32_t done) override;
  Result<> flush() override { return flow_.files.flush(flow_.engine); }
  void complete(const ReadDone& done) override;
  void fail(std::uint32_t tag, int error, std::int64_t now) override;

  // To be called when the engine has handed a request over.
  void handed_over(const ReadRequest& request, const HandOver& at);
  int last_error() const { return last_error_; }
  std::uint64_t short_reads() const { return short_; }

 private:
  static constexpr std::int64_t kNotIssued = INT64_MIN;
  struct Flight {
    ReplayRequest request;
    std::int64_t room_ns = 0;
    std::int64_t issued_ns = kNotIssued, begun_ns = 0;
  };
  bool is_short(const ReplayRequest& request, std::uint32_t bytes) const;
  void want(const ReplayRequest& request, WantedRead& wanted) const;
  void ended(std::uint32_t tag);
  void keep(std::uint32_t tag, std::int64_t now, bool failed);

  const ReplayFlow flow_;
  ReplayRecord& record_;
  std::vector<Flight> flights_;    // by tag
  Fifo<std::int64_t> free_since_;  // of each slot that is free, the longest free one first
  std::vector<iovec> iov_;         // by tag
  bool over_ = false;
  int last_error_ = 0;
  std::uint64_t short_ = 0;
};

}  // namespace blksweep
