// Read 8 ms, copy 3 ms, compute 10 ms per batch: a whole epoch, with the real reader on files of an
// emulated disk and the emulated copy stage and consumer. With prefetch 4 the epoch is bound by
// computing, with prefetch 0 it is the sum of all. Prints the median of five epochs each beside
// what it should be, and what each hand-over added. Needs root for the disk (exit 77 without).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loader/epoch.h"
#include "os/process/process.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kBatches = 200;
constexpr std::uint32_t kBatch = 8;
constexpr std::uint64_t kSampleBytes = std::uint64_t{16} << 10;
constexpr std::int64_t kReadNs = 8'000'000, kCopyNs = 3'000'000, kComputeNs = 10'000'000;
constexpr int kRepeats = 5;
constexpr double kBarPercent = 2;
// A batch in so long, however the kernel merges the reads; a round trip that is nothing beside it.
std::string model_of(double batch_ns) {
  return fmt::format(
      "kind = \"remote\"\nround_trip = \"1us\"\nrequest = \"0us\"\n"
      "link_rate = \"{:.0f}B/s\"\nqueue = 256\n",
      double{kBatch * kSampleBytes} * 1e9 / batch_ns);
}

// An emulated disk with the files on it; taken away at the end.
class Disk {
 public:
  explicit Disk(std::string program)
      : program_(std::move(program)), name_(fmt::format("overlap-{}", ::getpid())) {}
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk() {
    if (started_) {
      [[maybe_unused]] const Result<> stopped = call({"disk", "stop", name_, "--force"});
    }
    std::error_code ec;
    std::filesystem::remove_all(folder_, ec);
  }

  Result<> start() {
    folder_ = std::filesystem::temp_directory_path() / name_;
    std::filesystem::create_directories(files());
    BLKSWEEP_CHECK(call({"disk", "start", name_, "--model", "none", "--size", "256MiB", "--fs",
                         "ext4", "--mount", files()}));
    started_ = true;
    for (std::uint32_t f = 0; f < kBatches * kBatch; ++f) {
      std::ofstream(fmt::format("{}/{:05}", files(), f)) << std::string(kSampleBytes, 'x');
    }
    ::sync();
    return take(kReadNs);
  }
  // From now on a batch takes so long on the disk.
  Result<> take(double batch_ns) const {
    const std::string model = folder_ / "model.toml";
    std::ofstream(model) << model_of(batch_ns);
    return call({"disk", "set", name_, "--model", model});
  }
  std::string files() const { return folder_ / "files"; }

 private:
  Result<> call(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), program_);
    BLKSWEEP_TRY(const ProcessResult ended, run_process({.argv = std::move(arguments)}));
    return ended.ok() ? Result<>() : fail(ended.err, Exit{ended.exit_status});
  }

  std::string program_, name_;
  std::filesystem::path folder_;
  bool started_ = false;
};

LoaderSettings cell_with(std::uint32_t prefetch) {
  LoaderSettings c;
  c.order = Order::path;
  c.batch = kBatch;
  c.prefetch = prefetch;
  c.copy = CopyKind::emulated;
  c.copy_tuning.bandwidth = {kBatch * kSampleBytes * 1'000'000'000 / kCopyNs};
  c.copy_tuning.latency = Nanos{0};
  c.consumer = ConsumerKind::emulated;
  c.compute.mean = Nanos{kComputeNs};
  return c;
}

// Means over batches, beyond what the experiment asked for.
struct Added {
  double read = 0, to_copy = 0, copy = 0, to_compute = 0, compute = 0, to_next = 0;
};
struct Measured {
  double epoch_ns = 0;
  Added added;
};

Added added_by(const Epoch& epoch) {
  Added sum;
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1e3 / kBatches; };
  for (std::uint32_t b = 0; b < kBatches; ++b) {
    const BatchTimes& t = epoch.times()[b];
    const TimeSpan read = *t[Stage::read], moved = *t[Stage::transfer], used = *t[Stage::compute];
    sum.read += us(read.length() - kReadNs);
    sum.to_copy += us(moved.begin - read.end);
    sum.copy += us(moved.length() - kCopyNs);
    sum.to_compute += us(used.begin - moved.end);
    sum.compute += us(used.length() - kComputeNs);
    if (b > 0) {
      sum.to_next += us(read.begin - epoch.times()[b - 1].consumed);
    }
  }
  return sum;
}

Result<Measured> measure(const Source& source, std::uint32_t prefetch) {
  const LoaderSettings cell = cell_with(prefetch);
  BLKSWEEP_TRY(const PlannedEpoch planned, plan_epoch(source, cell, 1));
  BLKSWEEP_TRY(const auto epoch, Epoch::prepare(source, cell, planned, {}));
  const std::atomic<bool> stop{false};
  BLKSWEEP_TRY(const EpochOutcome out, epoch->run(stop));
  return Measured{static_cast<double>(out.end_ns - out.begin_ns), added_by(*epoch)};
}

Result<Measured> median_of(const Source& source, std::uint32_t prefetch) {
  std::vector<Measured> runs;
  for (int i = 0; i < kRepeats; ++i) {
    BLKSWEEP_TRY(const Measured m, measure(source, prefetch));
    runs.push_back(m);
  }
  std::ranges::sort(runs, {}, &Measured::epoch_ns);
  return runs[kRepeats / 2];
}

void report(const char* name, const Measured& m, double ideal_ns) {
  const double off = 100 * (m.epoch_ns / ideal_ns - 1);
  fmt::print("{:<11} {:9.2f} ms, ideal {:9.2f} ms, off by {:+.2f} % (bar {} %): {}\n", name,
             m.epoch_ns / 1e6, ideal_ns / 1e6, off, kBarPercent,
             std::abs(off) <= kBarPercent ? "pass" : "FAIL");
}

// What the hand-overs add is ours; how long a read takes is the emulated disk's.
void explain(const Measured& m) {
  const Added& a = m.added;
  const double asked = double{kReadNs} + kCopyNs + kComputeNs;
  const double stages_ns = kBatches * (asked + 1e3 * (a.read + a.copy + a.compute));
  fmt::print("  off the sum of what its stages really took by {:+.2f} %\n",
             100 * (m.epoch_ns / stages_ns - 1));
  fmt::print(
      "  us a batch: read {:+.0f}, ready to copy {:+.0f}, copy {:+.0f}, copied to computing "
      "{:+.0f}, compute {:+.0f}, consumed to the next read {:+.0f}\n",
      a.read, a.to_copy, a.copy, a.to_compute, a.compute, a.to_next);
}

std::string program() {
  const char* const given = std::getenv("BLKSWEEP");
  return given != nullptr ? given : "build/blksweep";
}

Result<> bench() {
  Disk disk(program());
  BLKSWEEP_CHECK(disk.start());
  BLKSWEEP_TRY(const Source source, open_source({disk.files(), ""}));
  fmt::print("{} batches of read 8 ms, copy 3 ms, compute 10 ms; medians of {}\n", kBatches,
             kRepeats);
  // What the way to the disk and back adds is taken off, so that a read takes what was asked.
  BLKSWEEP_TRY(const Measured way, median_of(source, 0));
  BLKSWEEP_CHECK(disk.take(double{kReadNs} - 1e3 * way.added.read));
  fmt::print("the way to the disk and back takes {:.0f} us a batch: taken off\n", way.added.read);
  BLKSWEEP_TRY(const Measured ahead, median_of(source, 4));
  report("prefetch 4", ahead, kReadNs + kCopyNs + double{kBatches} * kComputeNs);
  fmt::print("  us a batch: compute {:+.0f}, from one to the next {:+.0f}\n", ahead.added.compute,
             (ahead.epoch_ns - double{kBatches} * kComputeNs - kReadNs - kCopyNs) / 1e3 / kBatches -
                 ahead.added.compute);
  BLKSWEEP_TRY(const Measured serial, median_of(source, 0));
  report("prefetch 0", serial, double{kBatches} * (kReadNs + kCopyNs + kComputeNs));
  explain(serial);
  return {};
}

}  // namespace
}  // namespace blksweep

int main() {
  if (const auto done = blksweep::bench(); !done) {
    fmt::print(stderr, "overlap_bench: {}\n", done.error().message());
    return static_cast<int>(done.error().exit_code);
  }
  return 0;
}
