// What the catalog says of device addresses, against the bytes that really are on the device.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/memory.h"
#include "dataset/catalog_check.h"
#include "dataset/catalog_file.h"
#include "dataset/extent_check.h"
#include "dataset/make.h"
#include "dataset/scan.h"
#include "os/file/fiemap.h"
#include "os/file/file.h"
#include "support/loop_fs.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

std::string random_text(std::uint64_t number, std::size_t bytes) {
  std::string out(bytes, '\0');
  Content(99, number).next(std::as_writable_bytes(std::span(out)));
  return out;
}

void write_file(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void make_sparse(const std::string& path) {
  write_file(path, random_text(1, 4096));
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  f.seekp(1 << 20);
  f << random_text(2, 5000);
}

// Blocks that were never written, inside the file and behind its end.
void make_fallocated(const std::string& path) {
  write_file(path, random_text(3, 4096));
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(::fallocate(fd.get(), 0, 0, 65536), 0);
  EXPECT_EQ(::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 65536, 65536), 0);
}

bool clone(const std::string& from, const std::string& to) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const Fd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (::ioctl(target.get(), FICLONE, source.get()) == 0) {
    return true;
  }
  fs::remove(to);
  return false;
}

void make_odd_files(const LoopFs& loop) {
  for (const std::size_t size : {0U, 1U, 60U, 511U, 4095U, 4096U, 4097U, 65537U, 3U << 20}) {
    write_file(loop.path("sizes/" + std::to_string(size)), random_text(size, size));
  }
  write_file(loop.path("odd/text"), std::string(300'000, 'a'));  // compressible
  make_sparse(loop.path("odd/sparse"));
  make_fallocated(loop.path("odd/fallocated"));
  fs::create_hard_link(loop.path("sizes/65537"), loop.path("odd/hard"));
  fs::create_symlink("../sizes/4097", loop.path("odd/soft"));
  clone(loop.path("sizes/65537"), loop.path("odd/clone"));
}

Result<CatalogParts> scan_quietly(const std::string& path) {
  ScanReport report;
  return scan(path, {}, report);
}

// Bytes of the device from `offset` on, around every cache.
std::string device_bytes(const std::string& node, std::uint64_t offset, std::size_t length) {
  const Fd fd(::open(node.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  const std::uint64_t from = align_down(offset, kPageBytes);
  const std::size_t whole = align_up(offset + length, kPageBytes) - from;
  auto buffer = PageBuffer::allocate({whole});
  const auto n = pread_full(fd.get(), buffer->span().first(whole), from, node);
  EXPECT_TRUE(n) << n.error().message();
  const auto* text = reinterpret_cast<const char*>(buffer->data());
  return n && *n >= offset - from + length ? std::string(text + (offset - from), length) : "";
}

// Every extent that claims to be on the device holds the file's bytes there; how many did.
std::size_t compare_with_disk(const Catalog& c, const std::string& disk) {
  std::size_t compared = 0;
  for (std::uint32_t f = 0; f < c.files.size(); ++f) {
    const std::string content = read_file(c.full_path(f));
    std::string uncovered = content;
    for (const ExtentRecord& e : c.extents_of(f)) {
      const std::size_t length = std::min<std::uint64_t>(e.length, content.size() - e.file_offset);
      uncovered.replace(e.file_offset, length, length, '\0');
      if (e.on_device()) {
        ++compared;
        EXPECT_TRUE(device_bytes(disk, c.partition_start + e.device_offset, length) ==
                    content.substr(e.file_offset, length))
            << c.path(f) << " at " << e.file_offset;
      } else if ((e.flags & kExtentUnwritten) != 0) {
        EXPECT_EQ(content.substr(e.file_offset, length), std::string(length, '\0')) << c.path(f);
      }
    }
    EXPECT_EQ(uncovered.find_first_not_of('\0'), std::string::npos)
        << c.path(f) << ": a byte in no extent is not one of a hole";
  }
  return compared;
}

std::uint32_t flags_of(const Catalog& c, std::string_view path) {
  std::uint32_t flags = 0;
  for (std::uint32_t f = 0; f < c.files.size(); ++f) {
    for (const ExtentRecord& e : c.extents_of(f)) {
      flags |= c.path(f) == path ? e.flags : 0;
    }
  }
  return flags;
}

struct Case {
  const char* name;
  const char* mkfs;
  const char* options;
  bool partition;
  bool readable;
};

class CatalogOn : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& p = GetParam();
    if (const auto made = loop_.make({p.mkfs, p.options, 400, p.partition}); !made) {
      GTEST_SKIP() << made.error().message();
    }
  }
  LoopFs loop_;
};

TEST_P(CatalogOn, AddressesAreWhereTheBytesAre) {
  make_odd_files(loop_);
  const auto parts = scan_quietly(loop_.path());
  ASSERT_TRUE(parts) << parts.error().message();
  const Catalog c = parts->view();
  EXPECT_TRUE(validate_catalog(c)) << validate_catalog(c).error().message();
  EXPECT_EQ(c.device_readable, GetParam().readable);
  EXPECT_EQ(c.partition_start, GetParam().partition ? 1U << 20 : 0U);
  EXPECT_EQ(parts->device_node, loop_.node());
  EXPECT_GE(compare_with_disk(c, loop_.disk()), 8U);
  EXPECT_NE(flags_of(c, "odd/fallocated") & kExtentUnwritten, 0U);
  EXPECT_TRUE(check_catalog(c)->clean());
}

TEST_P(CatalogOn, FragmentedFilesHaveTheExtentsThatWereAskedFor) {
  MakeSettings s;
  s.directory = loop_.path("frag");
  s.count = 60;
  s.classes = 3;
  s.size = *parse_size_spec("uniform:40KiB-200KiB");
  s.fragment = 3;
  const auto made = make_dataset(s, {});
  ASSERT_TRUE(made) << made.error().message();
  const auto parts = scan_quietly(loop_.path("frag"));
  ASSERT_TRUE(parts) << parts.error().message();
  const Catalog c = parts->view();
  const double mean = static_cast<double>(c.extents.size()) / static_cast<double>(c.files.size());
  EXPECT_GE(mean, 2.5);
  EXPECT_NEAR(mean, made->extents_per_file, 0.2);
  EXPECT_GE(compare_with_disk(c, loop_.disk()), 150U);
}

// One piece or two, as the seed says of each file.
TEST_P(CatalogOn, AFractionOfExtentsIsAShareOfFiles) {
  MakeSettings s;
  s.directory = loop_.path("fraction");
  s.count = 60;
  s.size = *parse_size_spec("40KiB");
  s.fragment = 1.5;
  s.seed = 17;
  Rng of_pieces(s.seed, 3);
  std::uint64_t pieces = s.count;
  for (std::uint64_t i = 0; i < s.count; ++i) {
    pieces += of_pieces.unit() < 0.5 ? 1 : 0;
  }
  const auto made = make_dataset(s, {});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NEAR(made->extents_per_file * 60, static_cast<double>(pieces), 2);
}

INSTANTIATE_TEST_SUITE_P(
    Filesystems, CatalogOn,
    testing::Values(Case{"ext4", "mkfs.ext4 -q", "", false, true},
                    Case{"ext4_partition", "mkfs.ext4 -q", "", true, true},
                    Case{"ext4_1k_blocks", "mkfs.ext4 -q -b 1024", "", false, true},
                    Case{"ext4_inline", "mkfs.ext4 -q -I 256 -O inline_data", "", false, true},
                    Case{"ext4_data_journal", "mkfs.ext4 -q", "data=journal", false, false},
                    Case{"xfs", "mkfs.xfs -q", "", false, true},
                    Case{"btrfs", "mkfs.btrfs -q", "", false, false}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(CatalogExt4, InlineDataIsMarked) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.ext4 -q -I 256 -O inline_data", "", 64, false}); !made) {
    GTEST_SKIP() << made.error().message();
  }
  write_file(loop.path("a/tiny"), random_text(1, 60));
  const auto parts = scan_quietly(loop.path());
  ASSERT_TRUE(parts) << parts.error().message();
  EXPECT_NE(flags_of(parts->view(), "a/tiny") & kExtentInline, 0U);
}

TEST(CatalogXfs, ReflinkedFilesAreSharedAndStillReadable) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.xfs -q", "", 400, false}); !made) {
    GTEST_SKIP() << made.error().message();
  }
  write_file(loop.path("a/one"), random_text(1, 65536));
  if (!clone(loop.path("a/one"), loop.path("a/two"))) {
    GTEST_SKIP() << "this xfs has no reflink";
  }
  const auto parts = scan_quietly(loop.path());
  ASSERT_TRUE(parts) << parts.error().message();
  EXPECT_EQ(flags_of(parts->view(), "a/two"), std::uint32_t{kExtentShared});
  EXPECT_EQ(compare_with_disk(parts->view(), loop.disk()), 2U);
}

TEST(CatalogXfs, AFileOfWhichACloneWasMadeLiesWhereItLay) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.xfs -q", "", 400, false}); !made) {
    FAIL() << made.error().message();
  }
  write_file(loop.path("a/one"), random_text(1, 65536));
  const auto parts = scan_quietly(loop.path("a"));
  ASSERT_TRUE(parts) << parts.error().message();
  ASSERT_TRUE(clone(loop.path("a/one"), loop.path("two")));
  const auto check = check_extents(parts->view());
  ASSERT_TRUE(check) << check.error().message();
  EXPECT_TRUE(check->clean());
  ASSERT_TRUE(clone(loop.path("a/one"), loop.path("a/two")));  // all of them are told as shared
  EXPECT_EQ(flags_of(scan_quietly(loop.path("a"))->view(), "one"), std::uint32_t{kExtentShared});
}

TEST(CatalogBtrfs, CompressedAndInlineAreMarked) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.btrfs -q", "compress-force=zlib", 400, false}); !made) {
    GTEST_SKIP() << made.error().message();
  }
  write_file(loop.path("a/text"), std::string(300'000, 'a'));
  write_file(loop.path("a/tiny"), "tiny");
  const auto parts = scan_quietly(loop.path());
  ASSERT_TRUE(parts) << parts.error().message();
  EXPECT_NE(flags_of(parts->view(), "a/text") & kExtentEncoded, 0U);
  EXPECT_NE(flags_of(parts->view(), "a/tiny") & kExtentInline, 0U);
}

// In the first chunk logical and device addresses are equal, so only later ones prove anything.
TEST(CatalogBtrfs, LogicalAddressesAreTranslatedInLaterChunks) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.btrfs -q", "", 1000, false}); !made) {
    GTEST_SKIP() << made.error().message();
  }
  for (std::uint64_t i = 0; i < 12; ++i) {
    write_file(loop.path("a/" + std::to_string(i)), random_text(i, 16 << 20));
  }
  const auto parts = scan_quietly(loop.path());
  ASSERT_TRUE(parts) << parts.error().message();
  const Catalog c = parts->view();
  std::size_t moved = 0;
  ExtentReader reader;
  for (std::uint32_t f = 0; f < c.files.size(); ++f) {
    const auto fd = open_readonly(c.full_path(f));
    ASSERT_EQ(reader.read(fd->get()), 0);
    moved += reader.extents()[0].fe_physical != c.extents_of(f)[0].device_offset ? 1U : 0U;
  }
  EXPECT_GT(moved, 0U);
  EXPECT_GE(compare_with_disk(c, loop.disk()), 12U);
}

TEST(CatalogTmpfs, HasNoAddressesAndSaysSo) {
  if (!fs::is_directory("/dev/shm")) {
    GTEST_SKIP() << "needs a tmpfs at /dev/shm";
  }
  const std::string dir = "/dev/shm/blksweep-test-" + std::to_string(::getpid());
  write_file(dir + "/a/1", "hello");
  ScanReport report;
  const auto parts = scan(dir, {}, report);
  fs::remove_all(dir);
  ASSERT_TRUE(parts) << parts.error().message();
  EXPECT_EQ(parts->extents.at(0).flags, std::uint32_t{kExtentNoAddress});
  EXPECT_FALSE(parts->device_readable);
  EXPECT_EQ(report.warnings.size(), 1U);
}

// Just written, its blocks are not allocated yet.
TEST(ExtentReader, DataThatNobodySyncedHasAnAddress) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.ext4 -q", "", 64, false}); !made) {
    GTEST_SKIP() << made.error().message();
  }
  const Fd fd(::open(loop.path("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::pwrite(fd.get(), "x", 1, 0), 1);
  ExtentReader reader;
  ASSERT_EQ(reader.read(fd.get()), 0);
  ASSERT_EQ(reader.extents().size(), 1U);
  EXPECT_EQ(reader.extents()[0].fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC), 0U);
  EXPECT_GT(reader.extents()[0].fe_physical, 0U);
}

// More extents than one FIEMAP call returns.
TEST(ExtentReader, LoopsUntilTheLastExtent) {
  LoopFs loop;
  if (const auto made = loop.make({"mkfs.ext4 -q", "", 64, false}); !made) {
    GTEST_SKIP() << made.error().message();
  }
  const Fd fd(::open(loop.path("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(::pwrite(fd.get(), "x", 1, off_t{i} * 65536), 1);
  }
  ExtentReader few(3);
  ExtentReader many(256);
  ASSERT_EQ(few.read(fd.get()), 0);
  ASSERT_EQ(many.read(fd.get()), 0);
  ASSERT_EQ(few.extents().size(), 20U);
  ASSERT_EQ(many.extents().size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(few.extents()[i].fe_physical, many.extents()[i].fe_physical);
    EXPECT_EQ(few.extents()[i].fe_logical, i * 65536);
  }
}

}  // namespace
}  // namespace blksweep
