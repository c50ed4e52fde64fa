// Spinning: an engine that never sleeps near a due time, hands each request over at once and says
// when, and how long this thread stood still.
//
// Issue:   each request has a call of its own, so that no plug holds or merges what the trace has
//          apart. The block layer sees it within 1 us of the call's beginning, which counts; where
//          the call took more than kHandOver (it was preempted, perhaps before), its end does. How
//          long a read took counts from the beginning always: what the page cache has is copied
//          within the call.
// Why:     a sleep ends 50 us and more too late; a poll takes less than one.
// Sleeps:  only while the next request is due more than `spin` ahead; a sleep that ends late counts
//          as a stall from when it should have ended. After a hand-over it first lets go of the CPU
//          once: whom the request woke here (a loop device's worker) runs before the timer of
//          our sleep is set, which in a guest costs an exit to the host: 10 us and more. Where
//          another takes the CPU instead, and keeps it, that is a stall as between two polls.
// Stall:   two polls further apart than kStall count by the share of what was in flight that ended
//          between them: that much of the device may have waited for us, and its completions were
//          seen late. While all of it went on, the wait was for the device. A call that hands over
//          a request and takes as long is one, too, to the others in flight. All that ended
//          is asked for, though the loop takes as many as it refills: the rest waits here.
// Threads: as the engine's: one owner.
// Source:  Anderson et al., "Buttress: a toolkit for flexible and high fidelity I/O benchmarking",
//          FAST 2004 (spinning against sleeping).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/fifo.h"
#include "io/engine.h"
#include "io/read_loop.h"
#include "replay/request.h"

namespace blksweep {

class SpinEngine final : public Engine {
 public:
  static constexpr std::int64_t kStall = 1'000'000;
  static constexpr std::int64_t kHandOver = 25'000;
  using HandedOver = std::function<void(const ReadRequest&, const HandOver&)>;

  // `until_due`: completions may be seen late while nothing is due; else it never sleeps while
  // anything is in flight.
  enum class Sleeps : std::uint8_t { never, until_due };
  // `spin`: ns before a due time from which on it is awake.
  SpinEngine(Engine& inner, Sleeps sleeps, std::int64_t spin, HandedOver handed_over)
      : inner_(inner), sleeps_(sleeps), spin_(spin), handed_over_(std::move(handed_over)) {}

  const EngineFacts& facts() const override { return inner_.facts(); }
  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    return inner_.set_files(first_slot, fds);
  }
  Result<> submit(std::span<const ReadRequest> batch) override;
  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t until) override;

  // Since when there may have been room for another request: from before the poll that gave the
  // last completions, none of which was there then.
  std::int64_t room_since() const { return room_since_; }
  std::int64_t stalled_ns() const { return stalled_; }

 private:
  Result<std::size_t> poll(std::span<Completion> out, std::int64_t now);
  Result<std::size_t> take_all();
  Result<> count_stall(std::int64_t still, std::size_t before);
  Result<> let_go();
  std::size_t hand_out(std::span<Completion> out);

  Engine& inner_;
  const Sleeps sleeps_;
  const std::int64_t spin_;
  const HandedOver handed_over_;
  std::size_t in_flight_ = 0;  // and not seen to have ended
  bool woke_ = false;          // handed over since it last slept
  std::vector<Completion> took_;
  Fifo<Completion> seen_;  // and not handed out yet
  std::int64_t poll_ = 0, room_since_ = 0, stalled_ = 0;
};

// The host's clock for a loop with nothing in flight: sleeps to `spin` before, then spins.
class SpinClock final : public Clock {
 public:
  explicit SpinClock(std::int64_t spin) : spin_(spin) {}
  std::int64_t now() override;
  void wait_until(std::int64_t when) override;

 private:
  const std::int64_t spin_;
};

}  // namespace blksweep
