#include "map/device_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/units.h"
#include "io/engine_trial.h"

namespace blksweep {
namespace {

constexpr std::size_t kMostErrors = 10;
constexpr std::int64_t kLongestPause = 20'000'000;
constexpr std::uint32_t kSlot = 1U << 20;  // the largest read at a depth above 1

void pause_ns(std::int64_t ns) {
  const timespec t{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

}  // namespace

// One batch at a depth above 1; tags are places in the arena.
struct DeviceReader::InFlight {
  const MapBatch& batch;
  std::vector<std::uint32_t> free;
  std::vector<std::size_t> step_of;  // by tag
  std::vector<std::int64_t> begin, end;
  std::vector<ReadRequest> group;
  std::vector<Completion> done;
  std::size_t next = 0;

  explicit InFlight(const MapBatch& b)
      : batch(b), step_of(b.depth), begin(b.steps.size()), end(b.steps.size(), -1), done(b.depth) {
    for (std::uint32_t tag = b.depth; tag-- > 0;) {
      free.push_back(tag);
    }
  }
  bool idle() const { return free.size() == batch.depth; }
};

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
  EngineSettings settings;
  settings.depth = depth;
  settings.file_slots = 1;
  settings.arena = arena_.span();
  BLKSWEEP_TRY(auto engine, make_engine(kind, settings));
  Fd own(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!own) {
    return sys_error(errno, "duplicate a descriptor");
  }
  BLKSWEEP_CHECK(engine->set_files(0, {&own, 1}));
  (kind == EngineKind::psync ? single_ : many_) = std::move(engine);
  return {};
}

std::int64_t DeviceReader::now() { return now_ns(); }

Result<> DeviceReader::carry_out(const MapBatch& batch, std::int64_t until,
                                 std::vector<MapRead>& out) {
  return batch.depth == 1 || !many_ ? one_by_one(batch, until, out) : many(batch, until, out);
}

Result<> DeviceReader::one_by_one(const MapBatch& batch, std::int64_t until,
                                  std::vector<MapRead>& out) {
  for (const MapStep& step : batch.steps) {
    if (stopped() || now_ns() >= until) {
      return {};
    }
    if (step.pause > 0) {
      pause_ns(std::min(kLongestPause, static_cast<std::int64_t>(step.pause * usual_latency())));
    }
    iov_[0] = {arena_.data(), step.bytes};
    const ReadRequest request{step.offset, iov_.data(), 1, 0, 0};
    Completion done{};
    const std::int64_t begin = now_ns();
    BLKSWEEP_CHECK(single_->submit({&request, 1}));
    BLKSWEEP_CHECK(single_->reap({&done, 1}, 1));
    const std::int64_t latency = now_ns() - begin;
    BLKSWEEP_TRY(const bool good, check(done.result, step));
    if (good && step.recorded) {
      out.push_back({begin, latency, step.offset, step.distance, step.bytes, 1, batch.part});
    }
    if (good && step.pause > 0) {
      remember(latency);
    }
  }
  return {};
}

Result<> DeviceReader::many(const MapBatch& batch, std::int64_t until, std::vector<MapRead>& out) {
  InFlight f(batch);
  while (true) {
    const bool more = f.next < batch.steps.size() && !stopped() && now_ns() < until;
    if (more) {
      BLKSWEEP_CHECK(submit(f));
    } else if (f.idle()) {
      break;
    }
    BLKSWEEP_CHECK(reap(f));
  }
  for (std::size_t i = 0; i < f.next; ++i) {
    const MapStep& s = batch.steps[i];
    if (f.end[i] >= 0 && s.recorded) {
      out.push_back(
          {f.begin[i], f.end[i] - f.begin[i], s.offset, 0, s.bytes, batch.depth, batch.part});
    }
  }
  return {};
}

// Fills the queue.
Result<> DeviceReader::submit(InFlight& f) {
  f.group.clear();
  const std::int64_t now = now_ns();
  while (!f.free.empty() && f.next < f.batch.steps.size()) {
    const MapStep& step = f.batch.steps[f.next];
    const std::uint32_t tag = f.free.back();
    f.free.pop_back();
    iov_[tag] = {arena_.data() + std::size_t{tag} * kSlot, step.bytes};
    f.group.push_back({step.offset, &iov_[tag], 1, 0, tag});
    f.begin[f.next] = now;
    f.step_of[tag] = f.next++;
  }
  return many_->submit(f.group);
}

Result<> DeviceReader::reap(InFlight& f) {
  BLKSWEEP_TRY(const std::size_t n, many_->reap(f.done, 1));
  const std::int64_t now = now_ns();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t step = f.step_of[f.done[i].tag];
    f.free.push_back(f.done[i].tag);
    BLKSWEEP_TRY(const bool good, check(f.done[i].result, f.batch.steps[step]));
    f.end[step] = good ? now : -1;
  }
  return {};
}

Result<bool> DeviceReader::check(std::int32_t result, const MapStep& step) {
  if (result == static_cast<std::int32_t>(step.bytes)) {
    bytes_ += step.bytes;
    return true;
  }
  ++errors_;
  const std::string what =
      fmt::format("read of {} at byte {}", format_bytes({step.bytes}), step.offset);
  last_error_ = result < 0 ? sys_error(-result, what).value().text : what + ": short";
  if (errors_ >= kMostErrors) {
    return fail(fmt::format("{} reads failed, the last: {}: see the kernel log for the device",
                            errors_, last_error_));
  }
  return false;
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
