#include "node/pin/pin.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "node/pin/daemon.h"
#include "node/pin/page_helper.h"
#include "os/block/holders.h"
#include "os/file/file.h"
#include "support/flat_catalog.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// Descriptors in all tables of this process that lead below the folder.
std::size_t descriptors_below(const std::string& folder) {
  std::size_t count = 0;
  std::error_code ec;
  for (const auto& task : fs::directory_iterator("/proc/self/task", ec)) {
    for (const auto& fd : fs::directory_iterator(task.path() / "fd", ec)) {
      count += fs::read_symlink(fd.path(), ec).string().starts_with(folder) ? 1 : 0;
    }
  }
  return count;
}

// Files of one page each.
struct Folder {
  explicit Folder(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      dir.write("f" + std::to_string(i), std::string(10, 'x'));
    }
  }
  PinFiles files(std::size_t count) const {
    return {count, [this](std::size_t i) { return dir.path("f" + std::to_string(i)); }};
  }
  TempDir dir;
};

bool never() { return false; }

TEST(InodePin, HoldsEveryFileUntilItGoes) {
  const Folder folder(3000);
  {
    const auto pin = InodePin::take(folder.files(3000), never);
    ASSERT_TRUE(pin) << pin.error().text;
    EXPECT_EQ(pin->count().files, 3000U);
    EXPECT_EQ(pin->count().failed, 0U);
    EXPECT_GE(pin->count().helpers, 1U);
    EXPECT_GE(descriptors_below(folder.dir.path()), 3000U);
  }
  EXPECT_EQ(descriptors_below(folder.dir.path()), 0U);
}

TEST(InodePin, TakesOneDescriptorOfTheProcessItself) {
  const Folder folder(100);
  const auto own = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = own();
  const auto pin = InodePin::take(folder.files(100), never);
  ASSERT_TRUE(pin);
  EXPECT_EQ(own(), before + 1);
}

TEST(InodePin, FilesThatAreNotThereAreCountedAndTheFirstIsNamed) {
  const Folder folder(10);
  const auto pin = InodePin::take(folder.files(13), never);
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->count().files, 10U);
  EXPECT_EQ(pin->count().failed, 3U);
  EXPECT_EQ(pin->count().first_error,
            "open " + folder.dir.path("f10") + ": No such file or directory");
}

TEST(InodePin, OfNothingIsAPin) {
  const auto pin = InodePin::take({}, never);
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->count().files, 0U);
  EXPECT_EQ(pin->count().helpers, 0U);
}

TEST(InodePin, HoldsALinkAndWhatItLeadsTo) {
  const Folder folder(1);
  fs::create_symlink("f0", folder.dir.path("link"));
  const auto pin = InodePin::take({1, [&](std::size_t) { return folder.dir.path("link"); }}, never);
  ASSERT_TRUE(pin);
  std::error_code ec;
  std::vector<std::string> held;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    for (const auto& fd : fs::directory_iterator(task.path() / "fd", ec)) {
      held.push_back(fs::read_symlink(fd.path(), ec).string());
    }
  }
  EXPECT_NE(std::ranges::find(held, folder.dir.path("link")), held.end());
  EXPECT_NE(std::ranges::find(held, folder.dir.path("f0")), held.end());
}

TEST(InodePin, IsUndoneWhenStopped) {
  const Folder folder(100);
  const auto pin = InodePin::take(folder.files(100), [] { return true; });
  ASSERT_FALSE(pin);
  EXPECT_EQ(pin.error().exit_code, Exit::interrupted);
  EXPECT_EQ(descriptors_below(folder.dir.path()), 0U);
}

TEST(InodePin, OutlivesTheThreadThatTookIt) {
  const Folder folder(5);
  std::optional<Result<InodePin>> pin;
  std::thread([&] { pin.emplace(InodePin::take(folder.files(5), never)); }).join();
  ASSERT_TRUE(*pin);
  EXPECT_GE(descriptors_below(folder.dir.path()), 5U);
}

TEST(InodePin, HelpersTakeNoSignals) {
  const Folder folder(5);
  const auto pin = InodePin::take(folder.files(5), never);
  ASSERT_TRUE(pin);
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    const std::string status = read_file(task.path() / "status");
    if (status.find("blksweep-pin") != std::string::npos) {
      const std::size_t at = status.find("SigBlk:\t");
      EXPECT_EQ(std::stoull(status.substr(at + 8), nullptr, 16) & 0x4003U, 0x4003U);
      return;
    }
  }
  FAIL() << "there is no helper";
}

// In a process of its own, whose hard limit does not come back.
int pin_under_limit(rlim_t limit, const PinFiles& files, std::uint64_t wanted_helpers) {
  const rlimit narrow{limit, limit};
  if (::setrlimit(RLIMIT_NOFILE, &narrow) != 0) {
    return 2;
  }
  const auto pin = InodePin::take(files, never);
  if (!pin) {
    std::fprintf(stderr, "%s\n", pin.error().text.c_str());
    return 3;
  }
  return pin->count().files == files.count && pin->count().helpers >= wanted_helpers ? 0 : 4;
}

TEST(InodePin, HoldsMoreThanRlimitNofile) {
  const Folder folder(2000);
  EXPECT_EXIT(::_exit(pin_under_limit(256, folder.files(2000), 2000 / 256)),
              ::testing::ExitedWithCode(0), "");
}

TEST(InodePin, LinksThatTakeTwoDescriptorsFindRoomToo) {
  const Folder folder(1);
  TempDir links;
  for (int i = 0; i < 500; ++i) {
    fs::create_symlink(folder.dir.path("f0"), links.path("l" + std::to_string(i)));
  }
  const PinFiles files{500, [&](std::size_t i) { return links.path("l" + std::to_string(i)); }};
  EXPECT_EXIT(::_exit(pin_under_limit(256, files, 1000 / 256)), ::testing::ExitedWithCode(0), "");
}

TEST(PagePin, LocksWholeFilesAndCountsTheirBytes) {
  const Folder folder(3);
  folder.dir.write("f3", "");
  folder.dir.write("f4", std::string(20'000, 'y'));
  const auto pin = PagePin::take(folder.files(5), never);
  ASSERT_TRUE(pin) << pin.error().text;
  EXPECT_EQ(pin->count().files, 5U);
  EXPECT_EQ(pin->count().bytes.n, 30U + 20'000);
  const std::string maps = read_file("/proc/self/smaps");
  const std::size_t at = maps.find(folder.dir.path("f4"));
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(maps.find("Locked:               20 kB", at), std::string::npos);
}

TEST(PagePin, WhatIsNoRegularFileIsCounted) {
  const Folder folder(1);
  fs::create_directory(folder.dir.path("f1"));
  ASSERT_EQ(::mkfifo(folder.dir.path("f2").c_str(), 0600), 0);
  const auto pin = PagePin::take(folder.files(3), never);
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->count().files, 1U);
  EXPECT_EQ(pin->count().failed, 2U);
  EXPECT_NE(pin->count().first_error.find("f1"), std::string::npos);
}

TEST(PagePin, IsUndoneWhenStopped) {
  const Folder folder(5);
  const auto pin = PagePin::take(folder.files(5), [] { return true; });
  ASSERT_FALSE(pin);
  EXPECT_EQ(pin.error().exit_code, Exit::interrupted);
  EXPECT_EQ(read_file("/proc/self/maps").find(folder.dir.path()), std::string::npos);
}

Result<PinCount> wait_for(PageHelper& helper, const PinFiles& files) {
  for (;;) {
    if (auto result = helper.result(files)) {
      return *std::move(result);
    }
    ::usleep(1000);
  }
}

std::size_t holding(const std::string& path) { return holders_of({path}).size(); }

TEST(PageHelper, HoldsItsShareUntilItGoes) {
  const Folder folder(6);
  {
    auto helper = PageHelper::start(folder.files(8), 2, 8);
    ASSERT_TRUE(helper) << helper.error().text;
    const Result<PinCount> count = wait_for(*helper, folder.files(8));
    ASSERT_TRUE(count) << count.error().text;
    EXPECT_EQ(count->files, 4U);
    EXPECT_EQ(count->failed, 2U);
    EXPECT_EQ(helper->done(), 6U) << "progress: whatever became of them";
    EXPECT_EQ(count->bytes.n, 40U);
    EXPECT_EQ(count->first_error, "pin " + folder.dir.path("f6") + ": No such file or directory");
    EXPECT_EQ(holding(folder.dir.path("f1")), 0U);
    EXPECT_EQ(holding(folder.dir.path("f2")), 1U);
    EXPECT_EQ(holding(folder.dir.path("f5")), 1U);
  }
  EXPECT_EQ(holding(folder.dir.path()), 0U);
}

TEST(PageHelper, EndsWithAnOwnerThatIsKilled) {
  const Folder folder(2);
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto helper = PageHelper::start(folder.files(2), 0, 2);
    if (helper) {
      [[maybe_unused]] const auto count = wait_for(*helper, folder.files(2));
    }
    ::pause();
    ::_exit(1);
  }
  while (holding(folder.dir.path("f1")) == 0) {
    ::usleep(1000);
  }
  ::kill(owner, SIGKILL);
  ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
  for (int i = 0; i < 1000 && holding(folder.dir.path()) > 0; ++i) {
    ::usleep(1000);
  }
  EXPECT_EQ(holding(folder.dir.path()), 0U);
}

TEST(PageHelper, ThatIsKilledIsSeen) {
  const Folder folder(1);
  auto helper = PageHelper::start(folder.files(1), 0, 1);
  ASSERT_TRUE(helper);
  ASSERT_TRUE(wait_for(*helper, folder.files(1)));
  EXPECT_TRUE(helper->lives());
  const auto holders = holders_of({folder.dir.path("f0")});
  ASSERT_EQ(holders.size(), 1U);
  ::kill(holders.front().pid, SIGKILL);
  while (helper->lives()) {
    ::usleep(1000);
  }
  EXPECT_EQ(holding(folder.dir.path("f0")), 0U);
}

TEST(PageHelper, HoldsNoneOfTheOwnersDescriptors) {
  const Folder folder(1);
  const TempDir other;
  other.write("open", "x");
  const Result<Fd> fd = open_readonly(other.path("open"));
  ASSERT_TRUE(fd);
  auto helper = PageHelper::start(folder.files(1), 0, 1);
  ASSERT_TRUE(helper);
  ASSERT_TRUE(wait_for(*helper, folder.files(1)));
  EXPECT_EQ(holding(other.path("open")), 0U);
}

double share_of(const std::vector<std::uint64_t>& sizes, const std::vector<std::uint32_t>& files) {
  const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  double sum = 0;
  for (const std::uint32_t f : files) {
    sum += static_cast<double>(sizes[f]);
  }
  return all > 0 ? sum / all : 0;
}

TEST(PinDaemon, ToldToEndByASignalLeavesNoEntry) {
  const Folder folder(3);
  const TempDir run;
  const PinRegistry registry(run.path());
  PinOrder order{
      .name = "p", .kind = PinKind::inodes, .files = folder.files(3), .cost = {}, .roots = {}};
  const auto entry = start_pin_daemon(registry, std::move(order), never, {});
  ASSERT_TRUE(entry) << entry.error().text;
  EXPECT_EQ(*registry.names(), std::vector<std::string>{"p"});
  ASSERT_EQ(::kill(entry->daemon.pid, SIGTERM), 0);
  ASSERT_TRUE(wait_for_end(entry->daemon, std::chrono::seconds(60)));
  EXPECT_TRUE(registry.names()->empty());
}

TEST(Share, IsAsCloseAsWholeFilesAllow) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> sizes(1 + rng.below(300));
    std::ranges::generate(sizes, [&] { return rng.below(4) == 0 ? 0 : rng.below(1 << 20); });
    const auto largest = static_cast<double>(std::ranges::max(sizes));
    const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    const double percent = static_cast<double>(rng.below(101));
    const auto files = draw_share(sizes, percent, rng.next());
    EXPECT_TRUE(std::ranges::is_sorted(files));
    EXPECT_EQ(std::ranges::adjacent_find(files), files.end());
    if (all > 0) {
      EXPECT_LE(std::abs(share_of(sizes, files) - percent / 100) * all, largest / 2 + 1);
    }
  }
}

TEST(Share, NothingAllAndTheSameForTheSameSeed) {
  const std::vector<std::uint64_t> sizes(1000, 4096);
  EXPECT_TRUE(draw_share(sizes, 0, 1).empty());
  EXPECT_EQ(draw_share(sizes, 100, 1).size(), 1000U);
  EXPECT_EQ(draw_share(sizes, 25, 1).size(), 250U);
  EXPECT_EQ(draw_share(sizes, 25, 1), draw_share(sizes, 25, 1));
  EXPECT_NE(draw_share(sizes, 25, 1), draw_share(sizes, 25, 2));
  EXPECT_TRUE(draw_share({}, 50, 1).empty());
}

TEST(Share, IsSpreadOverTheDiskAndComesInAddressOrder) {
  support::FlatCatalog catalog("/data");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    catalog.add("f" + std::to_string(i), 4096, (999 - i) << 20);
  }
  const auto files = files_for_share(catalog.view(), 20, 3);
  EXPECT_EQ(files.size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(files, std::greater<>()));
  for (std::uint32_t part = 0; part < 1000; part += 250) {
    const auto here =
        std::ranges::count_if(files, [&](std::uint32_t f) { return f >= part && f < part + 250; });
    EXPECT_GT(here, 25) << "of about 50, from file " << part;
  }
}

TEST(PinCost, HelpersHaveRoomForAllFiles) {
  for (const std::uint64_t files : {0ULL, 1ULL, 20'000ULL, 1'000'000ULL}) {
    const PinCost cost = inode_pin_cost(files, "ext4");
    EXPECT_GE(cost.helpers * cost.per_helper, files);
    EXPECT_GE(cost.kernel_memory.n, files * 500);
    EXPECT_LE(cost.kernel_memory.n, files * 4000);
  }
}

TEST(PinCost, OfPagesCountsWholePages) {
  const std::vector<std::uint64_t> sizes{0, 1, 4096, 4097};
  EXPECT_EQ(page_pin_cost(sizes, "xfs").locked.n, 4U * 4096);
}

// A locked page has an entry of 8 bytes in the page tables.
TEST(PinCost, OfPagesCountsTheirTables) {
  const std::vector<std::uint64_t> small{4096}, large{1001ULL * 4096};
  EXPECT_EQ(page_pin_cost(large, "xfs").kernel_memory.n,
            page_pin_cost(small, "xfs").kernel_memory.n + 8000);
}

TEST(PinCost, WhatCannotFitIsRefusedWithTheWayOut) {
  PinCost cost = inode_pin_cost(1, "ext4");
  EXPECT_TRUE(check_inode_pin(cost));
  cost.kernel_memory.n = std::uint64_t{1} << 60;
  const Result<> much = check_inode_pin(cost);
  ASSERT_FALSE(much);
  EXPECT_NE(much.error().text.find("pin less"), std::string::npos);
  cost = inode_pin_cost(1, "ext4");
  cost.files = std::uint64_t{1} << 62;
  const Result<> many = check_inode_pin(cost);
  if (!many) {  // fs.file-max may be without bounds
    EXPECT_NE(many.error().text.find("fs.file-max"), std::string::npos);
  }
}

}  // namespace
}  // namespace blksweep
