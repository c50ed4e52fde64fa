#include "replay/own_rate.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/clock.h"
#include "replay/replay_source.h"
#include "replay/spin.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kRequests = 50'000;

class NullEngine final : public Engine {
 public:
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t /*first_slot*/, std::span<Fd> /*fds*/) override { return {}; }
  Result<> submit(std::span<const ReadRequest> batch) override {
    for (const ReadRequest& r : batch) {
      done_.push_back({r.tag, static_cast<std::int32_t>(r.iov->iov_len)});
    }
    return {};
  }
  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    const std::size_t n = std::min(out.size(), done_.size());
    std::copy(done_.end() - static_cast<std::ptrdiff_t>(n), done_.end(), out.begin());
    done_.resize(done_.size() - n);
    return n;
  }

 private:
  EngineFacts facts_;
  std::vector<Completion> done_;
};

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
  NullEngine null;
  Synthetic order;
  TargetFiles files = TargetFiles::device(Fd(), 0);
  ReplayRecord record(true);
  std::array<std::byte, 4096> memory{};
  const std::int64_t begin = now_ns();
  ReplaySource* issuing = nullptr;
  SpinEngine engine(null, SpinEngine::Sleeps::until_due, 0, [&](const auto& request, auto issued) {
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
