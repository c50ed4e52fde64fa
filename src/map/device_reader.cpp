#include "map/device_reader.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "io/engine_trial.h"
#include "io/read_list.h"

namespace blksweep {
namespace {

constexpr std::size_t kMostErrors = 10;
constexpr std::int64_t kLongestPause = 20'000'000;
constexpr std::uint32_t kSlot = 1U << 20;  // the largest read at a depth above 1

}  // namespace

Result<std::unique_ptr<DeviceReader>> DeviceReader::open(const Fd& fd, std::uint32_t largest,
                                                         const std::atomic<bool>* stop) {
  auto reader = std::unique_ptr<DeviceReader>(new DeviceReader(stop));
  const std::uint32_t deepest = MapPlan::depths().back();
  const std::uint64_t arena = std::max<std::uint64_t>(largest, std::uint64_t{deepest} * kSlot);
  BLKSWEEP_TRY(reader->arena_, PageBuffer::allocate({arena}));
  reader->iov_.resize(deepest);
  BLKSWEEP_CHECK(reader->add_engine(EngineKind::psync, 1, fd));
  reader->ring_refused_ = ring_refusal(deepest);
  if (reader->ring_refused_.empty()) {
    BLKSWEEP_CHECK(reader->add_engine(EngineKind::io_uring, deepest, fd));
  }
  return reader;
}

Result<> DeviceReader::add_engine(EngineKind kind, unsigned depth, const Fd& fd) {
  Fd own(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!own) {
    return sys_error(errno, "duplicate a descriptor");
  }
  BLKSWEEP_TRY((kind == EngineKind::psync ? single_ : many_),
               make_engine_on(std::move(own), kind, depth, arena_.span()));
  return {};
}

std::int64_t DeviceReader::now() { return now_ns(); }

class DeviceReader::Steps final : public ReadList {
 public:
  Steps(DeviceReader& reader, const MapBatch& batch, std::span<const ByteRange> places,
        unsigned depth, std::int64_t until)
      : ReadList(places, reader.arena_.span(), std::span(reader.iov_).first(depth), until),
        reader_(reader),
        batch_(batch),
        depth_(depth),
        seen_(batch.steps.size()) {}

  // In the order of their beginning.
  Result<> take(std::vector<MapRead>& out) const {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const MapStep& s = batch_.steps[i];
      if (seen_[i].good && s.recorded) {
        out.push_back(
            {seen_[i].begin, seen_[i].latency, s.offset, s.distance, s.bytes, depth_, batch_.part});
      }
    }
    return failed_;
  }

 private:
  struct Seen {
    std::int64_t begin = 0, latency = 0;
    bool good = false;
  };

  void ended(std::size_t read, const ReadDone& done, int error) override {
    const MapStep& step = batch_.steps[read];
    const bool good = error == 0 && done.bytes == step.bytes;
    seen_[read] = {done.submit_ns, done.now - done.submit_ns, good};
    if (!good) {
      failed_ = reader_.count_error(step, error);
    } else {
      reader_.bytes_ += step.bytes;
    }
    if (good && step.pause > 0) {
      reader_.remember(seen_[read].latency);
    }
    if (!failed_) {
      end_here();
    }
  }
  std::int64_t pause_before(std::size_t read) const override {
    const double pause = batch_.steps[read].pause * reader_.usual_latency();
    return std::min(kLongestPause, static_cast<std::int64_t>(pause));
  }

  DeviceReader& reader_;
  const MapBatch& batch_;
  const std::uint32_t depth_;
  std::vector<Seen> seen_;
  Result<> failed_;  // too often
};

// Where there is no ring every read goes alone, and is recorded so.
Result<> DeviceReader::carry_out(const MapBatch& batch, std::int64_t until,
                                 std::vector<MapRead>& out) {
  std::vector<ByteRange> places;
  for (const MapStep& s : batch.steps) {
    places.push_back({s.offset, s.offset + s.bytes});
  }
  const unsigned depth = many_ ? batch.depth : 1;
  Steps steps(*this, batch, places, depth, until);
  ReadLoop loop(steps, depth == 1 ? *single_ : *many_, host_clock(), {.depth = depth});
  BLKSWEEP_CHECK(loop.run(stop_));
  return steps.take(out);
}

Result<> DeviceReader::count_error(const MapStep& step, int error) {
  ++errors_;
  const std::string what =
      fmt::format("read of {} at byte {}", format_bytes({step.bytes}), step.offset);
  last_error_ = error != 0 ? sys_error(error, what).value().text : what + ": short";
  if (errors_ >= kMostErrors) {
    return fail(fmt::format("{} reads failed, the last: {}: see the kernel log for the device",
                            errors_, last_error_));
  }
  return {};
}

// About the longest that a short distance usually takes: on a disk, somewhat more than one
// revolution.
double DeviceReader::usual_latency() const {
  return recent_.empty() ? 0 : static_cast<double>(std::ranges::max(recent_));
}

void DeviceReader::remember(std::int64_t latency) {
  if (recent_.size() < kRecent) {
    recent_.push_back(latency);
  } else {
    recent_[recent_at_++ % kRecent] = latency;
  }
}

}  // namespace blksweep
