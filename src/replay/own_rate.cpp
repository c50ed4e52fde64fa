#include "replay/own_rate.h"

#include <array>

#include "base/clock.h"
#include "io/no_op_engine.h"
#include "replay/replay_source.h"
#include "replay/spin.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kRequests = 50'000;

class Synthetic final : public RequestOrder {
 public:
  Next next(ReplayRequest& request) override {
    request = {.offset = at_ * 4096, .number = at_, .bytes = 4096};
    return at_++ < kRequests ? Next::request : Next::end;
  }

 private:
  std::uint64_t at_ = 0;
};

}  // namespace

Result<double> own_request_rate(unsigned depth) {
  BLKSWEEP_TRY(const auto none, make_no_op_engine({.depth = depth, .arena = {}}));
  Synthetic order;
  TargetFiles files = TargetFiles::device(Fd(), 0);
  ReplayRecord record(true);
  std::array<std::byte, 4096> memory{};
  const std::int64_t begin = now_ns();
  ReplaySource* issuing = nullptr;
  SpinEngine engine(*none, SpinEngine::Sleeps::until_due, 0, [&](const auto& request, auto issued) {
    issuing->handed_over(request, issued);
  });
  // All are due at the beginning, as after a burst.
  ReplaySource source({.order = order,
                       .files = files,
                       .engine = engine,
                       .memory = memory,
                       .depth = depth,
                       .begin_ns = begin,
                       .room_since = [&] { return engine.room_since(); }},
                      record);
  issuing = &source;
  SpinClock clock(0);
  ReadLoop loop(source, engine, clock, {.depth = depth});
  BLKSWEEP_CHECK(loop.run(nullptr));
  return static_cast<double>(kRequests) * 1e9 / static_cast<double>(now_ns() - begin);
}

}  // namespace blksweep
