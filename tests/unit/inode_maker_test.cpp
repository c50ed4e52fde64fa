#include "probe/cache/inode_maker.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

std::optional<KernelFunction> found_in(const std::string& text, const std::string& filesystem) {
  const TempDir dir;
  const std::string path = dir.path() + "/kallsyms";
  std::ofstream(path) << text;
  return inode_maker(filesystem, path);
}

constexpr const char* kSymbols =
    "ffffffff817f6810 t __pfx_ext4_alloc_inode\n"
    "ffffffff817f6820 t ext4_alloc_inode\n"
    "ffffffff817f6820 t an_alias\n"
    "ffffffff817f6960 t ext4_free_in_core_inode\n"
    "ffffffffc0a01000 t xfs_inode_alloc\t[xfs]\n"
    "ffffffffc0a01100 t xfs_inode_free\t[xfs]\n";

TEST(InodeMaker, IsTheFunctionUpToTheNextOne) {
  const auto ext4 = found_in(kSymbols, "ext4");
  ASSERT_TRUE(ext4);
  EXPECT_EQ(ext4->begin, 0xffffffff817f6820U);
  EXPECT_EQ(ext4->bytes, 0x140U);
  const auto xfs = found_in(kSymbols, "xfs");
  ASSERT_TRUE(xfs);
  EXPECT_EQ(xfs->bytes, 0x100U);
}

// As 6.1 and 7.3 list a module's.
TEST(InodeMaker, IsFoundAmongSymbolsInNoOrder) {
  const auto ext4 = found_in(
      "ffffffffc08c7330 t descriptor_loc\t[ext4]\n"
      "ffffffffc08c7160 t ext4_alloc_inode\t[ext4]\n"
      "ffffffffc068f500 b __key.286\t[ext4]\n"
      "ffffffffc08c7200 d between\t[ext4]\n"
      "ffffffffc08c7150 t __pfx_ext4_alloc_inode\t[ext4]\n"
      "ffffffffc08c7320 t __pfx_descriptor_loc\t[ext4]\n",
      "ext4");
  ASSERT_TRUE(ext4);
  EXPECT_EQ(ext4->begin, 0xffffffffc08c7160U);
  EXPECT_EQ(ext4->bytes, 0x1c0U);
}

TEST(InodeMaker, OfDentriesIsTheSameForAllFilesystems) {
  const TempDir dir;
  const std::string path = dir.path() + "/kallsyms";
  std::ofstream(path) << "ffffffff816dccd0 t __d_alloc\nffffffff816dcf10 T d_alloc\n";
  const auto maker = dentry_maker(path);
  ASSERT_TRUE(maker);
  EXPECT_EQ(maker->begin, 0xffffffff816dccd0U);
  EXPECT_EQ(maker->bytes, 0x240U);
}

TEST(InodeMaker, IsUnknownWhereNothingSaysIt) {
  EXPECT_FALSE(found_in(kSymbols, "btrfs"));  // not loaded
  EXPECT_FALSE(found_in(kSymbols, "tmpfs"));
  EXPECT_FALSE(found_in("0000000000000000 t ext4_alloc_inode\n0000000000000000 t next\n", "ext4"));
  EXPECT_FALSE(found_in("ffffffff817f6820 t ext4_alloc_inode\n", "ext4"));  // its end is not known
  EXPECT_FALSE(inode_maker("ext4", "/no/such/file"));
}

}  // namespace
}  // namespace blksweep
