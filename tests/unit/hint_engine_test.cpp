// What the hint engine tells the kernel of comes into the page cache before it is read.
#include "io/hint_engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "io/engine.h"
#include "os/memory/residency.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

// One read of the file's second half, which nobody carries out.
class SecondHalf final : public UpcomingReads {
 public:
  explicit SecondHalf(std::string path) : path_(std::move(path)) {}
  std::size_t size() const override { return 1; }
  Read at(std::size_t) const override { return {0, kMebibyte, kMebibyte, 0}; }
  Fd open(std::uint32_t) override { return Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)); }

 private:
  std::string path_;
};

std::uint64_t resident(int fd, FileRange range) {
  const auto found = residency_of(fd, range);
  EXPECT_TRUE(found) << found.error().message();
  return found ? found->resident_bytes : 0;
}

constexpr FileRange kFirst{0, kMebibyte}, kSecond{kMebibyte, kMebibyte};

// False: it is of memory. What is still being read stays, for a moment.
bool leaves_the_cache(int fd) {
  for (int tries = 0; tries < 2000 && resident(fd, kSecond) + resident(fd, kFirst) > 0; ++tries) {
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::usleep(1000);
  }
  return resident(fd, kSecond) + resident(fd, kFirst) == 0;
}

// Whether all of the second half comes, and nothing else of the file.
bool brings_it_in(HintCall call, const std::string& path, int fd) {
  SecondHalf upcoming(path);
  const auto engine =
      make_engine(EngineKind::hint,
                  {.arena = {}, .hint = call, .hint_window = 2 * kMebibyte, .upcoming = &upcoming});
  EXPECT_TRUE(engine) << engine.error().message();
  EXPECT_TRUE((*engine)->submit({}));  // begins
  for (int tries = 0; tries < 2000 && resident(fd, kSecond) < kMebibyte; ++tries) {
    ::usleep(1000);
  }
  EXPECT_EQ(resident(fd, kFirst), 0U) << to_string(call);
  return resident(fd, kSecond) == kMebibyte;
}

TEST(HintEngine, WhatItTellsOfIsInTheCacheBeforeAnyRead) {
  TempDir dir;
  dir.write("f", std::string(2 * kMebibyte, 'x'));
  const Fd fd(::open(dir.path("f").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::fsync(fd.get()), 0);
  for (const HintCall call : {HintCall::fadvise, HintCall::readahead}) {
    bool came = false;
    for (int tries = 0; tries < 3 && !came; ++tries) {  // somebody may drop all caches meanwhile
      if (!leaves_the_cache(fd.get())) {
        GTEST_SKIP() << "the folder of temporary files is memory";
      }
      came = brings_it_in(call, dir.path("f"), fd.get());
    }
    EXPECT_TRUE(came) << to_string(call);
  }
}

// A pipe has no page cache.
class OfAPipe final : public UpcomingReads {
 public:
  std::size_t size() const override { return 1; }
  Read at(std::size_t) const override { return {0, 0, kMebibyte, 0}; }
  Fd open(std::uint32_t) override {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::close(ends[1]);
    return Fd(ends[0]);
  }
};

TEST(HintEngine, WhatTheKernelDoesNotTakeIsNotCountedButTold) {
  const std::pair<HintCall, const char*> refusals[] = {
      {HintCall::fadvise, "fadvise: Illegal seek"},
      {HintCall::readahead, "readahead: Invalid argument"}};
  for (const auto& [call, told] : refusals) {
    OfAPipe upcoming;
    const auto engine = make_engine(
        EngineKind::hint,
        {.arena = {}, .hint = call, .hint_window = 2 * kMebibyte, .upcoming = &upcoming});
    ASSERT_TRUE(engine) << engine.error().message();
    EXPECT_EQ((*engine)->own_counts().refused, "");
    ASSERT_TRUE((*engine)->submit({}));  // begins
    for (int tries = 0; tries < 2000 && (*engine)->own_counts().refused.empty(); ++tries) {
      ::usleep(1000);
    }
    EXPECT_EQ((*engine)->own_counts().refused, told);
    EXPECT_EQ((*engine)->own_counts().hinted_bytes, 0U);
  }
}

}  // namespace
}  // namespace blksweep
