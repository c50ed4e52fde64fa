// Descriptors that an engine needs no longer come back from set_files(), and may be closed at once.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>

#include "base/fd.h"
#include "base/memory.h"
#include "io/engine.h"
#include "support/engines.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

class SlotsGivenBack : public ::testing::TestWithParam<std::tuple<EngineKind, bool>> {
 protected:
  static constexpr std::uint32_t kBytes = 8192;
  void SetUp() override {
    for (const char c : {'a', 'b'}) {
      dir_.write(std::string(1, c), std::string(kBytes, c));
    }
    const auto [kind, registers] = GetParam();
    auto made = make_engine(
        kind, {.depth = 8, .file_slots = 4, .registers_files = registers, .arena = memory_.span()});
    ASSERT_TRUE(made) << made.error().message();
    engine_ = *std::move(made);
  }
  // Slot 1 has that file; what came back is closed.
  void fill(const char* name) {
    Fd fd(::open(dir_.path(name).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd);
    ASSERT_TRUE(engine_->set_files(1, {&fd, 1}));
    fd.reset();
    // Whoever opens next gets the number that was let go.
    other_.reset(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  }
  void submit(std::uint32_t tag) {
    iov_[tag] = {memory_.span().data() + std::size_t{tag} * kBytes, kBytes};
    const ReadRequest r{.offset = 0, .iov = &iov_[tag], .iov_count = 1, .slot = 1, .tag = tag};
    ASSERT_TRUE(engine_->submit({&r, 1}));
  }
  void reap(std::size_t count) {
    std::array<Completion, 8> done{};
    for (std::size_t n = 0; n < count;) {
      const auto got = engine_->reap(done, count - n, kForever);
      ASSERT_TRUE(got) << got.error().message();
      for (std::size_t i = 0; i < *got; ++i) {
        ASSERT_EQ(done[i].result, static_cast<std::int32_t>(kBytes));
      }
      n += *got;
    }
  }
  std::string got(std::uint32_t tag) {
    return {reinterpret_cast<const char*>(memory_.span().data()) + std::size_t{tag} * kBytes,
            kBytes};
  }

  TempDir dir_;
  PageBuffer memory_ = *PageBuffer::allocate(Bytes{8 * kBytes});
  std::array<iovec, 8> iov_{};
  Fd other_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(SlotsGivenBack, ReadsGoToTheFileThatTheirSlotHadWhenTheyWereSubmitted) {
  for (int round = 0; round < 50; ++round) {
    std::memset(memory_.span().data(), 0, memory_.span().size());
    ASSERT_NO_FATAL_FAILURE(fill("a"));
    ASSERT_NO_FATAL_FAILURE(submit(0));
    ASSERT_NO_FATAL_FAILURE(submit(1));
    ASSERT_NO_FATAL_FAILURE(fill("b"));  // while those may be in flight
    ASSERT_NO_FATAL_FAILURE(submit(2));
    ASSERT_NO_FATAL_FAILURE(reap(3));
    EXPECT_EQ(got(0), std::string(kBytes, 'a'));
    EXPECT_EQ(got(1), std::string(kBytes, 'a'));
    EXPECT_EQ(got(2), std::string(kBytes, 'b'));
  }
}

TEST_P(SlotsGivenBack, FilesAreRegisteredWhereThatWasAskedFor) {
  const bool ring = engine_->facts().name.starts_with("io_uring");
  EXPECT_EQ(engine_->facts().features.find("fixed_files") != std::string::npos,
            ring && std::get<bool>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Engines, SlotsGivenBack,
                         ::testing::Combine(::testing::ValuesIn(support::buffered_engines()),
                                            ::testing::Bool()),
                         [](const auto& way) {
                           std::string name(to_string(std::get<EngineKind>(way.param)));
                           std::ranges::replace(name, '-', '_');
                           return name + (std::get<bool>(way.param) ? "_registered" : "_plain");
                         });

}  // namespace
}  // namespace blksweep
