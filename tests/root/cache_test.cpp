#include "node/cache/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "support/ext4_loop.h"
#include "support/flat_catalog.h"

namespace blksweep {
namespace {

using support::Ext4Loop;
using support::FlatCatalog;

class CacheOnExt4 : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.ready()) {
      GTEST_SKIP() << disk_.why();
    }
    const std::uint64_t sizes[] = {0, 1, 511, 4096, 4097, 65537, 3 << 20};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      const std::string name = "f" + std::to_string(i);
      disk_.write(name, sizes[i], i);
      files_.add(name, sizes[i], (100 - i) << 20);
    }
  }
  Ext4Loop disk_;
  FlatCatalog files_{disk_.mount_point()};
};

TEST_F(CacheOnExt4, NothingIsResidentAfterMakeCold) {
  const CacheChange c = make_cold(files_.view());
  EXPECT_EQ(c.after.files, 7U);
  EXPECT_EQ(c.after.resident_pages, 0U);
  EXPECT_EQ(c.after.share(), 0.0);
  EXPECT_TRUE(c.metadata_cold);
  EXPECT_TRUE(c.warnings.empty()) << c.warnings.front();
  EXPECT_GT(c.before.resident_bytes, 0U) << "the files were just written";
}

TEST_F(CacheOnExt4, EverythingIsResidentAfterWarm) {
  make_cold(files_.view());
  const CacheChange c = warm(files_.view());
  EXPECT_EQ(c.before.share(), 0.0);
  EXPECT_EQ(c.after.share(), 1.0);
  EXPECT_EQ(c.after.bytes, 1U + 511 + 4096 + 4097 + 65537 + (3 << 20));
  EXPECT_TRUE(c.warnings.empty());
}

TEST_F(CacheOnExt4, CachestatAndMincoreAgreeOnAPartlyCachedFile) {
  make_cold(files_.view());
  const std::string path = disk_.mount_point() + "/f6";
  Fd fd(::open(path.c_str(), O_RDONLY));
  ASSERT_TRUE(fd);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);  // no readahead
  char byte = 0;
  for (const off_t page : {0, 7, 300}) {
    ASSERT_EQ(::pread(fd.get(), &byte, 1, page * 4096), 1);
  }
  const Result<Residency> core = residency_of(fd.get(), ResidencyMethod::mincore);
  ASSERT_TRUE(core) << core.error().text;
  EXPECT_GE(core->resident_pages, 3U);
  EXPECT_LT(core->resident_pages, core->pages);
  const Result<Residency> stat = residency_of(fd.get(), ResidencyMethod::cachestat);
  if (!stat && stat.error().sys_errno == ENOSYS) {
    GTEST_SKIP() << "this kernel has no cachestat(2)";
  }
  ASSERT_TRUE(stat) << stat.error().text;
  EXPECT_EQ(stat->resident_pages, core->resident_pages);
  EXPECT_EQ(stat->pages, core->pages);
  EXPECT_EQ(stat->dirty_pages, 0U);
}

TEST_F(CacheOnExt4, DirtyPagesAreSeen) {
  ASSERT_TRUE(drop_all());
  const std::string path = disk_.write("dirty", 1 << 20, 9);
  const Residency r = residency(std::vector<std::string>{path});
  EXPECT_EQ(r.resident_pages, 256U);
  if (r.dirty_pages) {
    EXPECT_EQ(*r.dirty_pages, 256U);
  }
}

TEST_F(CacheOnExt4, MissingFilesAreCountedAndNamed) {
  files_.add("gone", 4096);
  const Residency r = measure(files_.view());
  EXPECT_EQ(r.files, 8U);
  EXPECT_EQ(r.unreadable, 1U);
  EXPECT_EQ(r.first_error, "open " + disk_.mount_point() + "/gone: No such file or directory");
}

}  // namespace
}  // namespace blksweep
