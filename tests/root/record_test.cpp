// A disk that is recorded while it is read.
#include "record/record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "support/bare_loop.h"
#include "support/temp_dir.h"
#include "trace/trace_file.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kEarly = 0, kLast = 16 << 20;  // offsets of reads

std::vector<std::uint64_t> offsets_in(const std::string& path) {
  std::vector<std::uint64_t> offsets;
  auto reader = TraceReader::open(path);
  std::vector<TraceRecord> block;
  while (reader && reader->next(block).value_or(false)) {
    for (const TraceRecord& r : block) {
      offsets.push_back(r.offset);
    }
  }
  return offsets;
}

// The ring is emptied every few milliseconds, and once more at the end.
TEST(RecordDevice, HasWhatWasReadJustBeforeItWasToldToStop) {
  const auto device = LoopDevice::make();
  if (!device) {
    GTEST_SKIP() << "needs root and loop devices: " << device.error().message();
  }
  const TempDir dir;
  DeviceRecording settings{.device = block_device_of_dev(device->number()).value(),
                           .output = dir.path("trace")};
  std::atomic<bool> stop = false, ended = false;
  Result<RecordReport> report = fail("not recorded");
  std::thread recorder([&] {
    report = record_device(settings, stop);
    ended = true;
  });
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, 4096), &std::free);
  const auto read_at = [&](std::uint64_t offset) {
    EXPECT_EQ(::pread(device->fd(), memory.get(), 4096, static_cast<off_t>(offset)), 4096);
  };
  for (int i = 0; i < 30'000 && !ended && !std::filesystem::exists(settings.output); ++i) {
    ::usleep(1000);  // its programs are loaded
  }
  for (int i = 0; i < 1000 && !ended; ++i) {  // until they are attached, and longer
    read_at(kEarly);
    ::usleep(1000);
  }
  read_at(kLast);
  stop = true;
  recorder.join();
  if (!report && report.error().exit_code == Exit::unsupported) {
    GTEST_SKIP() << report.error().message();
  }
  ASSERT_TRUE(report) << report.error().message();
  const std::vector<std::uint64_t> offsets = offsets_in(dir.path("trace"));
  EXPECT_GT(std::ranges::count(offsets, kEarly), 0);
  EXPECT_EQ(std::ranges::count(offsets, kLast), 1);
  EXPECT_EQ(report->records, offsets.size());
}

}  // namespace
}  // namespace blksweep
