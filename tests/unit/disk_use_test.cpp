// What others did on a disk, and when it is told.
#include "os/block/disk_use.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace blksweep {
namespace {

TEST(OthersRead, IsWhatTheDiskReadBeyondOurs) {
  EXPECT_EQ(others_read(100, 60), 40U);
  EXPECT_EQ(others_read(60, 100), 0U) << "read ahead, and not there yet";
  EXPECT_EQ(others_read(48 * kMiB, 96 * kMiB), std::nullopt) << "a filesystem on two disks";
  EXPECT_EQ(others_read(std::nullopt, 60), std::nullopt);
  EXPECT_EQ(others_read(100, std::nullopt), std::nullopt);
}

TEST(OthersRead, IsToldWhenItIsAShareOfTheDiskThatShows) {
  const auto read = [](std::uint64_t own, std::uint64_t others, std::uint64_t reads) {
    return others_warning("sda", {.own_bytes = own, .other_bytes = others, .reads = reads});
  };
  EXPECT_EQ(read(10 * kMiB, kMiB, 100'000), "") << "what a filesystem's threads read";
  EXPECT_EQ(read(100 * kMiB, 4 * kMiB, 100'000), "") << "below 5 %";
  EXPECT_EQ(read(100 * kMiB, 6 * kMiB, 100'000),
            "others read 6 MiB from sda while this run read 100 MiB: its times are those of a disk "
            "that was shared");
  EXPECT_NE(read(0, 2 * kMiB, 10), "") << "a warm run shares it too";
}

// Issue 10, referee: 2.8 MB in 690 requests beside 134 of our own, and a run took 4.9 s in place
// of 1.0.
TEST(OthersRead, IsToldWhenItsRequestsAreMany) {
  const auto told = [](const DiskUse& use) { return !others_warning("sda", use).empty(); };
  EXPECT_TRUE(told({.own_bytes = 120 * kMiB, .other_bytes = 2'800'000, .reads = 828}));
  EXPECT_FALSE(told({.own_bytes = 120 * kMiB, .other_bytes = 40'960, .reads = 144})) << "few";
  EXPECT_FALSE(told({.own_bytes = 120 * kMiB, .other_bytes = 800'000, .reads = 9000}))
      << "below 5 % of the requests, whatever their size";
  EXPECT_NE(
      writes_warning(
          "sda",
          {.own_bytes = 120 * kMiB, .other_bytes = 800'000, .other_requests = 195, .reads = 134}),
      "");
  EXPECT_EQ(
      writes_warning(
          "sda",
          {.own_bytes = 120 * kMiB, .other_bytes = 900'000, .other_requests = 3, .reads = 134}),
      "")
      << "a journal's";
}

// Referee: fstrim beside a run, 528 discards beside 1,044 reads, and it took 134 ms in place of 54.
TEST(OthersWrote, IsToldOfDiscardsWhichMoveNoBytes) {
  const DiskStat done{.reads = 1044, .read_sectors = 128'000, .discards = 528};
  EXPECT_EQ(writes_warning("sda", writes_beside(done, done.read_sectors * kSectorBytes)),
            "0 B were written to sda in 528 requests (528 of them discards) while 62.5 MiB were "
            "read: the times are those of a disk that was shared");
  EXPECT_TRUE(others_beside(done, done.read_sectors * kSectorBytes).notable);
}

// Beside a replay that writes, too, nobody counts whose write a request was.
TEST(OthersWrote, IsToldWithoutRequestsWhereThoseAreNotKnown) {
  EXPECT_EQ(
      writes_warning("sda", {.own_bytes = kMiB, .other_bytes = 2 * kMiB, .reads = 10}),
      "2 MiB were written to sda while 1 MiB were read: the times are those of a disk that was "
      "shared");
}

}  // namespace
}  // namespace blksweep
