#include "loader/spare_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace blksweep {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

PageBuffer taken(SpareMemory& spare, std::uint64_t bytes) {
  Result<PageBuffer> memory = spare.take({bytes});
  EXPECT_TRUE(memory);
  return memory ? *std::move(memory) : PageBuffer();
}

TEST(SpareMemory, GivesTheSameAgainWhereItFits) {
  SpareMemory spare;
  PageBuffer first = taken(spare, 8 * kMiB);
  const std::byte* const at = first.data();
  first.data()[5] = std::byte{7};
  spare.keep(std::move(first));
  PageBuffer second = taken(spare, 4 * kMiB);
  EXPECT_EQ(second.data(), at);
  EXPECT_EQ(second.data()[5], std::byte{7}) << "it was cleared, which is what this is to spare";
  EXPECT_NE(taken(spare, 4 * kMiB).data(), at) << "given to two at once";
}

TEST(SpareMemory, IsLargeEnoughAndNotMuchTooLarge) {
  for (const std::uint64_t wanted : {2U, 4U, 8U, 10U, 32U, 64U}) {
    SpareMemory spare;
    spare.keep(taken(spare, 8 * kMiB));
    const PageBuffer memory = taken(spare, wanted * kMiB);
    EXPECT_GE(memory.size(), wanted * kMiB);
    EXPECT_LE(memory.size(), 4 * wanted * kMiB);
  }
}

// Pages of a PageBuffer do not come along with a fork; what lies there then is somebody else's.
TEST(SpareMemory, AForkedProcessGetsPagesOfItsOwnAndHarmsNone) {
  SpareMemory spare;
  PageBuffer memory = taken(spare, 8 * kMiB);
  std::byte* const at = memory.data();
  spare.keep(std::move(memory));
  const pid_t child = ::fork();
  if (child == 0) {
    void* const other = ::mmap(at, kMiB, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    PageBuffer mine = taken(spare, 8 * kMiB);
    std::fill_n(mine.data(), mine.size(), std::byte{1});
    const bool fine = other == at && mine.data() != at && at[0] == std::byte{0};
    spare.keep(std::move(mine));
    ::_exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(taken(spare, 8 * kMiB).data(), at);
}

}  // namespace
}  // namespace blksweep
