#include "disk/backing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/rng.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

constexpr Bytes kSize{std::uint64_t{8} << 20};

std::byte* bytes_of(const iovec& piece) { return static_cast<std::byte*>(piece.iov_base); }

std::vector<std::byte> joined(const ReadPieces& pieces) {
  std::vector<std::byte> out;
  for (const iovec& piece : pieces.iov) {
    out.insert(out.end(), bytes_of(piece), bytes_of(piece) + piece.iov_len);
  }
  return out;
}

// Memory and file against a plain array: the same writes, holes and reads at random places.
class AnyBacking : public testing::TestWithParam<bool> {
 protected:
  Result<std::unique_ptr<Backing>> make() {
    if (GetParam()) {
      return Backing::memory(kSize);
    }
    dir_.write("image", "");
    std::filesystem::resize_file(dir_.path("image"), kSize.n);
    return Backing::file(dir_.path("image"), kSize);
  }
  TempDir dir_;
};

TEST_P(AnyBacking, ReadsWhatWasWrittenAndZerosElsewhere) {
  auto backing = make();
  ASSERT_TRUE(backing) << backing.error().message();
  std::vector<std::byte> model(kSize.n);
  Rng rng(7);
  for (int step = 0; step < 400; ++step) {
    const std::uint64_t sectors = 1 + rng.below(600);
    const std::uint64_t offset = rng.below(kSize.n / 512 - sectors) * 512;
    const auto range = std::span(model).subspan(offset, sectors * 512);
    const std::uint64_t what = rng.below(3);
    if (what == 0) {
      std::ranges::fill(range, std::byte(1 + rng.below(255)));
      ASSERT_EQ((*backing)->write(offset, range), 0);
    } else if (what == 1) {
      std::ranges::fill(range, std::byte{0});
      ASSERT_EQ((*backing)->punch(offset, range.size()), 0);
    } else {
      ReadPieces pieces;
      ASSERT_EQ((*backing)->read(offset, static_cast<std::uint32_t>(range.size()), pieces), 0);
      ASSERT_TRUE(std::ranges::equal(joined(pieces), range)) << "step " << step;
      (*backing)->give_back(std::move(pieces));
    }
  }
  EXPECT_EQ((*backing)->sync(), 0);
}

TEST_P(AnyBacking, IsTheFileThatWasLookedAt) {
  if (GetParam()) {
    return;
  }
  auto backing = make();
  ASSERT_TRUE(backing);
  struct stat st {};
  ASSERT_EQ(::stat(dir_.path("image").c_str(), &st), 0);
  EXPECT_TRUE((*backing)->is(st.st_dev, st.st_ino));
  EXPECT_FALSE((*backing)->is(st.st_dev, st.st_ino + 1));
}

TEST_P(AnyBacking, ASecondUserOfAFileIsRefused) {
  auto first = make();
  ASSERT_TRUE(first);
  if (!GetParam()) {
    EXPECT_FALSE(Backing::file(dir_.path("image"), kSize));
    std::filesystem::remove(dir_.path("image"));
    EXPECT_TRUE((*first)->is_removed());
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyBacking, testing::Bool(),
                         [](const auto& param) { return param.param ? "Memory" : "File"; });

// Reading holes must not take memory: a scan of an empty disk would need as much as its size.
TEST(MemoryBacking, ReadingHolesAllocatesNothing) {
  auto backing = Backing::memory(kSize);
  ASSERT_TRUE(backing);
  for (std::uint64_t at = 0; at < kSize.n; at += kMaxMessage) {
    ReadPieces pieces;
    ASSERT_EQ((*backing)->read(at, kMaxMessage, pieces), 0);
    ASSERT_EQ(pieces.iov.size(), 1U);
    EXPECT_EQ(bytes_of(pieces.iov[0])[kMaxMessage - 1], std::byte{0});
  }
  struct stat st {};
  ASSERT_EQ(::fstat((*backing)->fd(), &st), 0);
  EXPECT_EQ(st.st_blocks, 0);
}

}  // namespace
}  // namespace blksweep
