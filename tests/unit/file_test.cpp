#include "os/file/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "os/file/fiemap.h"
#include "os/memory/residency.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

// A descriptor or a process may end while /proc tells of it: read(2) fails then.
TEST(WholeText, IsEmptyWhereReadingFails) {
  EXPECT_EQ(whole_text("/proc/self/mem"), "");  // EIO at address 0
  EXPECT_EQ(whole_text("/"), "");               // EISDIR
  EXPECT_EQ(whole_text("/nowhere"), "");
  EXPECT_NE(whole_text("/proc/self/status"), "");
  EXPECT_EQ(first_line("/proc/self/mem"), "");
}

// A file with a block of data each 64 KiB, where the filesystem tells of extents.
class ExtentsOfAFile : public ::testing::Test {
 protected:
  void SetUp() override {
    fd_ = Fd(::open(dir_.path("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_TRUE(fd_);
    if (ExtentReader().read(fd_.get()) == EOPNOTSUPP) {
      GTEST_SKIP() << "no extents here";
    }
  }
  void write_block(int n) { ASSERT_EQ(::pwrite(fd_.get(), "x", 1, off_t{n} * 65536), 1); }
  std::size_t without_address() const {
    constexpr std::uint32_t kNoneYet = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC;
    return static_cast<std::size_t>(std::ranges::count_if(
        reader_.extents(), [](const fiemap_extent& e) { return (e.fe_flags & kNoneYet) != 0; }));
  }

  TempDir dir_;
  Fd fd_;
  ExtentReader reader_;
};

TEST_F(ExtentsOfAFile, HaveAddressesWhetherNoneSomeOrAllOfItWasSynced) {
  for (int synced = 0; synced < 3; ++synced) {
    ASSERT_EQ(::ftruncate(fd_.get(), 0), 0);
    for (int n = 0; n < 2; ++n) {
      write_block(n);
      ASSERT_EQ(n < synced ? ::fsync(fd_.get()) : 0, 0);
    }
    ASSERT_EQ(reader_.read(fd_.get()), 0);
    EXPECT_EQ(reader_.extents().size(), 2U);
    EXPECT_EQ(without_address(), 0U) << synced << " of 2 were synced";
  }
}

TEST_F(ExtentsOfAFile, AreTheSameHoweverManyCallsTheyTake) {
  for (int n = 0; n < 6; ++n) {
    write_block(n);
  }
  ASSERT_EQ(::fsync(fd_.get()), 0);
  for (const std::size_t at_once : {1U, 4U, 5U, 6U, 7U}) {
    ExtentReader reader(at_once);
    ASSERT_EQ(reader.read(fd_.get()), 0);
    ASSERT_EQ(reader.extents().size(), 6U) << at_once << " at once";
    for (std::size_t n = 0; n < 6; ++n) {
      EXPECT_EQ(reader.extents()[n].fe_logical, n * 65536);
    }
  }
}

// Its address is known, so nobody has to wait for the device. The kernel may write it at any time.
TEST_F(ExtentsOfAFile, AreToldWithoutWritingWhatIsWrittenOver) {
  write_block(0);
  bool stayed_dirty = false;
  for (int n = 0; n < 20 && !stayed_dirty; ++n) {
    ASSERT_EQ(::fsync(fd_.get()), 0);
    write_block(0);
    ASSERT_EQ(reader_.read(fd_.get()), 0);
    const auto pages = residency_of(fd_.get(), ResidencyMethod::cachestat);
    if (!pages) {
      GTEST_SKIP() << pages.error().message();
    }
    stayed_dirty = pages->dirty_pages.value_or(0) > 0;
  }
  EXPECT_TRUE(stayed_dirty);
}

TEST_F(ExtentsOfAFile, AreNoneOfAnEmptyOne) {
  EXPECT_EQ(reader_.read(fd_.get()), 0);
  EXPECT_TRUE(reader_.extents().empty());
}

TEST(ExtentReader, SaysWhyAFileHasNoExtents) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ExtentReader().read(null.get()), EOPNOTSUPP);
  EXPECT_EQ(ExtentReader().read(-1), EBADF);
}

}  // namespace
}  // namespace blksweep
