// Reads that io_uring handed to a worker of the kernel, as the probe counts them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/memory.h"
#include "io/engine.h"
#include "probe/block_probe.h"
#include "support/bare_loop.h"

namespace blksweep {
namespace {

constexpr std::uint32_t kReads = 100;

// Reads pages through a ring, one after the other: of the device, or of a file in memory, which has
// no reads without waiting as io_uring sees it.
class PuntedReads : public testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    auto device = LoopDevice::make();
    if (!device) {
      GTEST_SKIP() << "needs root and loop devices: " << device.error().message();
    }
    device_.emplace(std::move(*device));
    auto probe = open_block_probe(device_->number());
    if (!probe) {
      GTEST_SKIP() << probe.error().message();
    }
    probe_ = std::move(*probe);
  }

  void read(int fd) {
    PageBuffer memory = *PageBuffer::allocate(Bytes{kPageBytes});
    auto engine = make_engine(GetParam(), {.depth = 1, .file_slots = 1, .arena = memory.span()});
    ASSERT_TRUE(engine) << engine.error().message();
    Fd file(::dup(fd));
    ASSERT_TRUE((*engine)->set_files(0, {&file, 1}));
    for (std::uint32_t i = 0; i < kReads; ++i) {
      const iovec to{memory.data(), kPageBytes};
      const ReadRequest r{
          .offset = i * kPageBytes, .iov = &to, .iov_count = 1, .slot = 0, .tag = i};
      ASSERT_TRUE((*engine)->submit({&r, 1}));
      std::array<Completion, 1> done{};
      ASSERT_EQ((*engine)->reap(done, 1, kForever).value_or(0), 1U);
      ASSERT_EQ(done[0].result, static_cast<std::int32_t>(kPageBytes));
    }
  }
  template <class Work>
  std::optional<std::uint64_t> punted(Work work) {
    EXPECT_TRUE(probe_->start());
    work();
    const auto report = probe_->stop();
    EXPECT_TRUE(report);
    return report ? report->punted : std::nullopt;
  }

  std::optional<LoopDevice> device_;
  std::unique_ptr<BlockProbe> probe_;
};

TEST_P(PuntedReads, AreThoseOfOurRingsThatWentToAWorker) {
  const Fd memory(::memfd_create("punted", MFD_CLOEXEC));
  ASSERT_TRUE(memory);
  ASSERT_EQ(::ftruncate(memory.get(), std::int64_t{kReads} * kPageBytes), 0);
  const auto of_memory = punted([&] { read(memory.get()); });
  if (!of_memory) {
    GTEST_SKIP() << "this kernel has no tracepoint for it";
  }
  EXPECT_EQ(of_memory, kReads);
  EXPECT_EQ(punted([&] { read(device_->fd()); }), 0U) << "the device starts reads without waiting";
  const auto of_others = punted([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      read(memory.get());
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(of_others, 0U) << "another process";
}

INSTANTIATE_TEST_SUITE_P(Rings, PuntedReads,
                         testing::Values(EngineKind::io_uring, EngineKind::uring_sqpoll),
                         [](const auto& kind) {
                           return kind.param == EngineKind::io_uring ? "plain" : "sqpoll";
                         });

}  // namespace
}  // namespace blksweep
