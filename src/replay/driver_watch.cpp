#include "replay/driver_watch.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include "base/fifo.h"
#include "replay/background.h"

namespace blksweep {
namespace {

constexpr Bytes kWatchRing{std::uint64_t{64} << 20};
constexpr auto kDrains =
    std::chrono::milliseconds(200);  // a ring holds seconds of the fastest disk

}  // namespace

Result<std::unique_ptr<DriverWatch>> DriverWatch::begin(dev_t whole_disk) {
  std::unique_ptr<DriverWatch> watch(new DriverWatch());
  DriverWatch& w = *watch;
  BLKSWEEP_TRY(w.recorder_, open_block_recorder(whole_disk, kWatchRing, [&w](const BlockEvent& e) {
                 if (e.kind == BlockEvent::Kind::issue && e.op == BlockEvent::Op::read) {
                   w.issues_.push_back({e.at_ns, e.offset, e.bytes});
                 }
               }));
  BLKSWEEP_CHECK(w.recorder_->start());
  w.drain_.emplace(*w.recorder_);
  return watch;
}

RingDrain::RingDrain(Recorder& recorder)
    : recorder_(recorder), thread_([this](const std::stop_token& told) {
        give_way();
        drained_ = drain_until(told);
      }) {}

Result<> RingDrain::drain_until(const std::stop_token& told) {
  while (!told.stop_requested()) {
    std::this_thread::sleep_for(kDrains);
    BLKSWEEP_CHECK(recorder_.drain());
  }
  return {};
}

Result<> RingDrain::end() {
  thread_ = {};
  recorder_.stop();
  BLKSWEEP_CHECK(drained_);
  return recorder_.drain();
}

Result<DriverLateness> DriverWatch::end(std::span<const DueRead> reads) {
  BLKSWEEP_CHECK(drain_->end());
  DriverLateness out = lateness_of(issues_, reads);
  out.lost = recorder_->lost();
  return out;
}

DriverLateness lateness_of(std::span<const DriverIssue> issues, std::span<const DueRead> reads) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Fifo<std::int64_t>> at;
  for (const DriverIssue& i : issues) {
    at[{i.offset, i.bytes}].push(i.at_ns);
  }
  DriverLateness out;
  std::vector<std::int64_t> late;
  for (const DueRead& r : reads) {
    const auto found = at.find({r.offset, r.bytes});
    if (found == at.end() || found->second.empty()) {
      ++out.missing;
    } else {
      late.push_back(found->second.pop() - r.due_ns);
    }
  }
  out.matched = late.size();
  if (late.empty()) {
    return out;
  }
  const auto [begin, last] = std::ranges::minmax(late);
  for (const std::int64_t ns : late) {
    out.histogram.add(static_cast<std::uint64_t>(ns - begin));
  }
  out.lateness = quantiles_of(out.histogram, last - begin);
  return out;
}

}  // namespace blksweep
