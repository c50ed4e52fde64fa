// The probe against what the test itself read: counts, sectors, depths and merges on a loop device.
#include "probe/block_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/memory.h"
#include "os/block/blockdev.h"
#include "support/bare_loop.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kImageBytes = LoopDevice::kBytes;
constexpr std::uint64_t kRead = 4096;

// Reads the offsets in batches, each submitted with one system call and waited for as a whole.
class BatchReader {
 public:
  explicit BatchReader(unsigned depth) : depth_(depth) {
    buffer_ = *PageBuffer::allocate(Bytes{depth * kRead});
    EXPECT_EQ(io_uring_queue_init(depth, &ring_, 0), 0);
  }
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;
  ~BatchReader() { io_uring_queue_exit(&ring_); }

  void read(int fd, const std::vector<std::uint64_t>& offsets) {
    for (std::size_t i = 0; i < offsets.size(); i += depth_) {
      batch(fd, std::span(offsets).subspan(i, std::min<std::size_t>(depth_, offsets.size() - i)));
    }
  }

 private:
  void batch(int fd, std::span<const std::uint64_t> offsets) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      io_uring_prep_read(io_uring_get_sqe(&ring_), fd, buffer_.data() + i * kRead, kRead,
                         offsets[i]);
    }
    const auto n = static_cast<unsigned>(offsets.size());
    ASSERT_EQ(io_uring_submit_and_wait(&ring_, n), static_cast<int>(n));
    for (unsigned i = 0; i < n; ++i) {
      io_uring_cqe* cqe = nullptr;
      ASSERT_EQ(io_uring_wait_cqe(&ring_, &cqe), 0);
      ASSERT_EQ(cqe->res, static_cast<int>(kRead));
      io_uring_cqe_seen(&ring_, cqe);
    }
  }

  unsigned depth_;
  PageBuffer buffer_;
  io_uring ring_{};
};

// Every second block: no two are adjacent.
std::vector<std::uint64_t> scattered(std::size_t n) {
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i < n; ++i) {
    offsets.push_back((i * 7919 % (kImageBytes / kRead / 2)) * 2 * kRead);
  }
  return offsets;
}

std::vector<std::uint64_t> adjacent(std::size_t n) {
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i < n; ++i) {
    offsets.push_back(i * kRead);
  }
  return offsets;
}

std::uint64_t total(const ProbeBuckets& buckets) {
  std::uint64_t sum = 0;
  for (const auto& [lower, count] : buckets) {
    sum += count;
  }
  return sum;
}

class Probe : public testing::Test {
 protected:
  void SetUp() override {
    auto device = LoopDevice::make();
    if (!device) {
      GTEST_SKIP() << "needs root and loop devices: " << device.error().message();
    }
    device_.emplace(std::move(*device));
    auto probe = open_block_probe(device_->number());
    if (!probe) {
      ASSERT_EQ(probe.error().exit_code, Exit::unsupported) << probe.error().message();
      GTEST_SKIP() << probe.error().message();
    }
    probe_ = std::move(*probe);
    if (!device_->set_scheduler("none")) {
      GTEST_SKIP() << "cannot set the scheduler of " << device_->name();
    }
  }

  template <class Work>
  ProbeReport watch(Work work) {
    auto started = probe_->start();
    EXPECT_TRUE(started) << started.error().message();
    work();
    auto report = probe_->stop();
    EXPECT_TRUE(report) << report.error().message();
    return report ? std::move(*report) : ProbeReport{};
  }
  // A kernel may tell no program of what comes in an interrupt of one of its own tasks
  // (docs/kernel-notes.md); the probe says so (healed), and it is watched again.
  ProbeReport watch_reads(const std::vector<std::uint64_t>& offsets, unsigned depth) {
    BatchReader reader(depth);
    const auto read = [&] { reader.read(device_->fd(), offsets); };
    ProbeReport report = watch(read);
    for (int again = 0; again < 5 && report.healed > 0; ++again) {
      report = watch(read);
    }
    return report;
  }

  std::optional<LoopDevice> device_;
  std::unique_ptr<BlockProbe> probe_;
};

TEST_F(Probe, CountsExactlyTheReadsAtDepthOne) {
  const auto offsets = scattered(2000);
  const ProbeReport r = watch_reads(offsets, 1);
  EXPECT_EQ(r.requests, 2000u);
  EXPECT_EQ(r.bytes, 2000 * kRead);
  EXPECT_EQ(r.other_requests, 0u);
  EXPECT_EQ(r.plug_merges, 0u);
  EXPECT_EQ(r.scheduler_merges, 0u);
  EXPECT_EQ(r.lost_events, 0u);
  ASSERT_TRUE(r.depth_mean);
  EXPECT_GT(*r.depth_mean, 0.0);
  EXPECT_LE(*r.depth_mean, 1.2);
  EXPECT_EQ(r.request_bytes, (ProbeBuckets{{kRead, 2000}}));
  EXPECT_EQ(total(r.depth), 2000u);
  EXPECT_EQ(r.warnings, std::vector<std::string>{});
}

TEST_F(Probe, SaysWhereEachReadWentInOrder) {
  const auto offsets = scattered(500);
  const ProbeReport r = watch_reads(offsets, 1);
  ASSERT_EQ(r.issues.size(), offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    ASSERT_EQ(r.issues[i].sector, offsets[i] / kSectorBytes) << "read " << i;
    ASSERT_EQ(r.issues[i].bytes, kRead);
  }
  EXPECT_TRUE(std::ranges::is_sorted(r.issues, {}, &ProbeIssue::at_ns));
  EXPECT_GT(r.seeks, 490u);
}

TEST_F(Probe, SequentialReadsAreNotSeeks) {
  const ProbeReport r = watch_reads(adjacent(500), 1);
  EXPECT_EQ(r.requests, 500u);
  EXPECT_LE(r.seeks, 1u);
}

TEST_F(Probe, AgreesWithTheDiskStatistics) {
  const ProbeReport r = watch_reads(scattered(20000), 32);
  ASSERT_TRUE(r.stat_difference);
  EXPECT_LE(*r.stat_difference, 0.01);
}

TEST_F(Probe, SeesTheDepthOfBatches) {
  const ProbeReport r = watch_reads(scattered(20000), 32);
  EXPECT_EQ(r.requests, 20000u);
  ASSERT_FALSE(r.depth.empty());
  EXPECT_GT(r.depth.back().first, 8u);
  EXPECT_LE(r.depth.back().first, 32u + r.healed);
  ASSERT_TRUE(r.depth_mean);
  EXPECT_GT(*r.depth_mean, 1.2);
}

TEST_F(Probe, SamplesTheDepthWhileReadsGoOn) {
  BatchReader reader(32);
  const ProbeReport r = watch([&] {
    const std::int64_t end = now_ns() + 300'000'000;
    while (now_ns() < end) {
      reader.read(device_->fd(), scattered(3200));
    }
  });
  ASSERT_GT(r.series.size(), 50u);
  EXPECT_TRUE(std::ranges::is_sorted(r.series, {}, &ProbeSample::at_ns));
  EXPECT_TRUE(std::ranges::any_of(r.series, [](const auto& s) { return s.driver_depth > 1; }));
  EXPECT_EQ(r.samples_left_out, 0u);
}

TEST_F(Probe, SeesAdjacentReadsOfABatchMergedInThePlug) {
  const ProbeReport r = watch_reads(adjacent(3200), 32);
  EXPECT_GT(r.plug_merges, 1600u);
  EXPECT_EQ(r.scheduler_merges, 0u);
  EXPECT_EQ(r.requests + r.plug_merges.value_or(0), 3200u);
  EXPECT_EQ(r.bytes, 3200 * kRead);
  EXPECT_GT(r.request_bytes.back().first, kRead);
}

TEST_F(Probe, SeesWhatTheSchedulerHolds) {
  if (!device_->set_scheduler("mq-deadline")) {
    GTEST_SKIP() << "no mq-deadline";
  }
  BatchReader reader(256);
  const ProbeReport r = watch([&] {
    const std::int64_t end = now_ns() + 300'000'000;
    while (now_ns() < end) {
      reader.read(device_->fd(), scattered(2560));
    }
  });
  EXPECT_TRUE(std::ranges::any_of(r.series, [](const auto& s) { return s.scheduler_depth > 0; }));
  EXPECT_EQ(r.lost_events, 0u);
}

TEST_F(Probe, TellsSchedulerMergesFromPlugMerges) {
  if (!device_->set_scheduler("mq-deadline")) {
    GTEST_SKIP() << "no mq-deadline";
  }
  // The plug looks at its newest request only: in each batch first the even blocks, then the odd.
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t block = 0; block < 6400; block += 32) {
    for (std::uint64_t i = 0; i < 32; ++i) {
      offsets.push_back((block + (i * 2) % 32 + i / 16) * kRead);
    }
  }
  const ProbeReport r = watch_reads(offsets, 32);
  EXPECT_GT(r.scheduler_merges, 0u);
  EXPECT_EQ(r.requests + r.plug_merges.value_or(0) + r.scheduler_merges.value_or(0),
            offsets.size());
  EXPECT_EQ(r.bytes, offsets.size() * kRead);
}

// As a sweep does: the probe is opened, then the queue is made larger.
TEST_F(Probe, HasRoomForTheLargestQueueOfASweep) {
  auto probe = open_block_probe(device_->number(), {.requests = 2048});
  ASSERT_TRUE(probe) << probe.error().message();
  probe_ = *std::move(probe);
  if (!device_->set_scheduler("mq-deadline") || !device_->set("nr_requests", "2048")) {
    GTEST_SKIP() << "no mq-deadline with 2048 requests";
  }
  const ProbeReport r = watch_reads(scattered(1800 * 8), 1800);
  EXPECT_EQ(r.lost_events, 0u);
  EXPECT_EQ(r.requests, 1800u * 8);
}

TEST_F(Probe, WhatIsUnknownIsNotZero) {
  auto probe =
      open_block_probe(device_->number(), {.without = {"block_bio_backmerge", "block_rq_requeue"}});
  ASSERT_TRUE(probe) << probe.error().message();
  probe_ = *std::move(probe);
  const ProbeReport r = watch_reads(adjacent(320), 32);
  EXPECT_EQ(r.plug_merges, std::nullopt);
  EXPECT_EQ(r.scheduler_merges, std::nullopt);
  EXPECT_EQ(r.requeues, std::nullopt);
  EXPECT_EQ(r.bytes, 320 * kRead);
  EXPECT_EQ(r.warnings.size(), 2u) << fmt::format("{}", fmt::join(r.warnings, "\n"));
}

TEST_F(Probe, ItsProgramsTookSomeOfTheTimeThatPassed) {
  auto probe = open_block_probe(device_->number(), {.cost = true});
  ASSERT_TRUE(probe) << probe.error().message();
  probe_ = *std::move(probe);
  const std::int64_t begin = now_ns();
  const ProbeReport r = watch_reads(scattered(2000), 8);
  const auto all_cpus =
      static_cast<std::uint64_t>((now_ns() - begin) * ::sysconf(_SC_NPROCESSORS_CONF));
  ASSERT_TRUE(r.programs_ns);
  EXPECT_GT(*r.programs_ns, 2000U) << "not even a nanosecond each";
  EXPECT_LT(*r.programs_ns, all_cpus);
}

TEST_F(Probe, FollowsReadsThroughTheLayersWhenAsked) {
  auto probe = open_block_probe(device_->number(), {.layers = true});
  ASSERT_TRUE(probe) << probe.error().message();
  probe_ = std::move(*probe);
  const auto offsets = scattered(300);
  const ProbeReport r = watch_reads(offsets, 1);
  ASSERT_EQ(r.queued.size(), offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    ASSERT_EQ(r.queued[i].sector, offsets[i] / kSectorBytes) << "read " << i;
    ASSERT_EQ(r.queued[i].bytes, kRead);
    ASSERT_LE(r.queued[i].at_ns, r.issues[i].at_ns);
  }
  EXPECT_EQ(r.passed_left_out, 0U);
  EXPECT_EQ(r.splits, 0U);
}

// 512 KiB through requests of 64 KiB: one bio is cut 7 times, and nothing is read twice.
TEST_F(Probe, CountsTheSplitsOfALongRead) {
  constexpr std::size_t kLong = 512 << 10;
  if (!device_->set("max_sectors_kb", "64")) {
    GTEST_SKIP() << "cannot limit the requests of " << device_->name();
  }
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, kLong), &std::free);
  const ProbeReport r = watch([&] {
    EXPECT_EQ(::pread(device_->fd(), memory.get(), kLong, 0), static_cast<ssize_t>(kLong));
  });
  EXPECT_EQ(r.splits, 7U);
  EXPECT_EQ(r.requests, 8U);
  EXPECT_EQ(r.bytes, kLong);
}

// One read at a time: each is done before the next one is issued.
TEST_F(Probe, KnowsWhenEachReadWasDone) {
  const ProbeReport r = watch_reads(scattered(300), 1);
  EXPECT_TRUE(r.queued.empty());
  for (std::size_t i = 0; i < r.issues.size(); ++i) {
    ASSERT_TRUE(r.issues[i].latency_ns) << "read " << i;
    ASSERT_GT(*r.issues[i].latency_ns, 0);
    ASSERT_TRUE(i + 1 == r.issues.size() ||
                r.issues[i].at_ns + *r.issues[i].latency_ns <= r.issues[i + 1].at_ns);
  }
}

TEST_F(Probe, ThinsALogThatIsFullAndSaysSo) {
  constexpr std::size_t kReads = 140'000;
  const ProbeReport r = watch_reads(scattered(kReads), 64);
  EXPECT_EQ(r.requests, kReads);
  EXPECT_EQ(r.issues.size(), kReads / 2);
  EXPECT_EQ(r.issues_left_out, kReads / 2);
  // Two CPUs may number their events in another order than they timed them, by far less than this.
  for (std::size_t i = 1000; i < r.issues.size(); i += 1000) {
    ASSERT_LT(r.issues[i - 1000].at_ns, r.issues[i].at_ns);
  }
}

TEST_F(Probe, AnIdleDeviceGivesZerosAndNoMean) {
  const ProbeReport r = watch([] {});
  EXPECT_EQ(r.requests, 0u);
  EXPECT_EQ(r.bytes, 0u);
  EXPECT_EQ(r.busy_ns, 0u);
  EXPECT_EQ(r.depth_mean, std::nullopt);
  EXPECT_EQ(r.stat_difference, std::nullopt);
  EXPECT_TRUE(r.issues.empty());
  EXPECT_TRUE(r.depth.empty());
}

TEST_F(Probe, ASecondStartBeginsFromZero) {
  watch_reads(scattered(300), 8);
  const ProbeReport r = watch_reads(scattered(100), 8);
  EXPECT_EQ(r.requests, 100u);
  EXPECT_EQ(r.issues.size(), 100u);
  EXPECT_EQ(total(r.latency_ns) + r.healed, 100u);
}

TEST_F(Probe, ReadsOfAnotherDiskAreNotOurs) {
  auto other = LoopDevice::make();
  ASSERT_TRUE(other) << other.error().message();
  BatchReader reader(8);
  const ProbeReport r = watch([&] { reader.read(other->fd(), scattered(500)); });
  EXPECT_EQ(r.requests, 0u);
}

TEST_F(Probe, SnapshotsGrowWhileItRuns) {
  BatchReader reader(4);
  const ProbeReport r = watch([&] {
    reader.read(device_->fd(), scattered(100));
    const auto first = probe_->snapshot();
    reader.read(device_->fd(), scattered(50));
    const auto second = probe_->snapshot();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->requests, 100u);
    EXPECT_EQ(second->requests, 150u);
  });
  EXPECT_EQ(r.requests, 150u);
}

TEST(ALoopDeviceOfATest, GivesItsQueueBackAsItWas) {
  std::string folder;
  std::map<std::string, std::string> before;
  {
    const auto device = LoopDevice::make();
    if (!device) {
      GTEST_SKIP() << "needs root and loop devices: " << device.error().message();
    }
    folder = "/sys/block/" + device->name() + "/queue";
    before = QueueGuard::settings(folder);
    device->set_scheduler("mq-deadline");
    device->set("nr_requests", "100");
    device->set("read_ahead_kb", "192");
    ASSERT_NE(QueueGuard::settings(folder), before);
  }
  EXPECT_EQ(QueueGuard::settings(folder), before);
}

}  // namespace
}  // namespace blksweep
