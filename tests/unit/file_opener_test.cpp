#include "loader/file_opener.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "support/flat_catalog.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

class FileOpenerTest : public ::testing::TestWithParam<unsigned> {
 protected:
  FileOpenerTest() : flat_(dir_.path()), files_(kFiles) {
    for (std::uint32_t f = 0; f < kFiles; ++f) {
      dir_.write(name_of(f), "x");
      flat_.add(name_of(f), 1);
    }
    catalog_ = flat_.view();
    std::iota(files_.begin(), files_.end(), 0U);
  }
  static std::string name_of(std::uint32_t file) { return "f" + std::to_string(file); }
  // Of this data set alone: another thread may have some of its own.
  std::size_t held() const {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      n += std::filesystem::read_symlink(entry, gone).parent_path() == dir_.path() ? 1U : 0U;
    }
    return n;
  }
  bool held_becomes(std::size_t wanted) const {
    for (int i = 0; i < 2000 && held() != wanted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return held() == wanted;
  }
  // The file of open `open`, whose descriptor makes room for it at once.
  void take_and_close(FileOpener& opener, std::uint32_t open) const {
    Fd fd(opener.take(open));
    ASSERT_TRUE(fd);
    const auto link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd.get()));
    ASSERT_EQ(link.filename(), name_of(open));
    opener.close(open, std::move(fd));
  }

  static constexpr std::uint32_t kFiles = 300;
  TempDir dir_;
  FlatCatalog flat_;
  std::vector<std::uint32_t> files_;
  Catalog catalog_;  // a view of flat_
};

TEST_P(FileOpenerTest, EachFileComesInOrderAndNoDescriptorIsLeft) {
  const auto data = DataFiles::open_root(catalog_);
  ASSERT_TRUE(data) << data.error().message();
  for (const std::uint32_t closing : {0U, 1U, 7U, 256U}) {
    {
      FileOpener opener(*data, files_, {.threads = GetParam(), .ahead = 16, .closing = closing});
      opener.start();
      for (std::uint32_t open = 0; open < kFiles; ++open) {
        ASSERT_NO_FATAL_FAILURE(take_and_close(opener, open));
        ASSERT_LE(held(), 16U + closing + GetParam());
      }
    }
    ASSERT_EQ(held(), 0U) << closing;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, FileOpenerTest, ::testing::Values(0U, 1U, 3U));

// Half a ring was taken: who opens fills it again, and has time for what was given back.
TEST_F(FileOpenerTest, WhoWaitsForRoomClosesWhatWasGivenBack) {
  const auto data = DataFiles::open_root(catalog_);
  ASSERT_TRUE(data) << data.error().message();
  constexpr std::uint32_t kAhead = 16;
  FileOpener opener(*data, files_, {.threads = 1, .ahead = kAhead, .closing = 64});
  opener.start();
  for (std::uint32_t open = 0; open < kAhead / 2; ++open) {
    ASSERT_NO_FATAL_FAILURE(take_and_close(opener, open));
  }
  EXPECT_TRUE(held_becomes(kAhead)) << held();
}

// The openers are through and gone: as many wait as there is room for, the reader closes the rest.
TEST_F(FileOpenerTest, WhatFindsNoRoomIsClosedAtOnce) {
  const auto data = DataFiles::open_root(catalog_);
  ASSERT_TRUE(data) << data.error().message();
  const std::vector<std::uint32_t> few{0, 1, 2};
  FileOpener opener(*data, few, {.threads = 1, .ahead = 16, .closing = 4});
  opener.start();
  std::vector<Fd> taken;
  for (std::uint32_t open = 0; open < few.size(); ++open) {
    taken.emplace_back(opener.take(open));
  }
  ASSERT_TRUE(held_becomes(few.size()));
  for (std::uint32_t open = 0; open < 10; ++open) {
    opener.close(open, Fd(::open(dir_.path(name_of(open)).c_str(), O_RDONLY | O_CLOEXEC)));
    ASSERT_EQ(held(), few.size() + std::min(open + 1, 4U));
  }
  opener.close(11, Fd());  // a slot that held none
  EXPECT_EQ(held(), few.size() + 4);
}

}  // namespace
}  // namespace blksweep
