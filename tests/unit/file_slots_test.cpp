#include "loader/file_slots.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <optional>

#include "base/rng.h"
#include "support/fake_engine.h"
#include "support/flat_catalog.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

using support::FlatCatalog;

// Remembers which file each slot holds, by name; gives the descriptors back at once, as a ring that
// has them registered, or those that a slot had before.
class SlotEngine final : public Engine {
 public:
  explicit SlotEngine(std::uint32_t slots, bool registers = true)
      : held(slots), kept_(registers ? 0 : slots) {}
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t first, std::span<Fd> fds) override {
    for (std::size_t i = 0; i < fds.size(); ++i) {
      const std::string link = "/proc/self/fd/" + std::to_string(fds[i].get());
      held.at(first + i) = fds[i] ? std::filesystem::read_symlink(link).filename().string() : "";
    }
    if (!kept_.empty()) {
      std::ranges::swap_ranges(fds, std::span(kept_).subspan(first, fds.size()));
    }
    most_at_once = std::max(most_at_once, fds.size());
    return {};
  }
  Result<> submit(std::span<const ReadRequest>) override { return {}; }
  Result<std::size_t> reap(std::span<Completion>, std::size_t, std::int64_t) override {
    return std::size_t{0};
  }
  std::vector<std::string> held;
  std::size_t most_at_once = 0;

 private:
  std::vector<Fd> kept_;
  EngineFacts facts_;
};

class FileSlotsTest : public ::testing::Test {
 protected:
  FileSlotsTest() : flat_(dir_.path()) {
    for (std::uint32_t f = 0; f < kFiles; ++f) {
      dir_.write("f" + std::to_string(f), "x");
      flat_.add("f" + std::to_string(f), 1);
    }
    catalog_ = flat_.view();
    Rng rng(5);
    for (std::uint32_t r = 0; r < 800; ++r) {
      plan_.reads.push_back({0, 4096, static_cast<std::uint32_t>(rng.below(kFiles))});
    }
  }
  static std::size_t descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static constexpr std::uint32_t kFiles = 30;
  TempDir dir_;
  FlatCatalog flat_;
  Catalog catalog_;  // a view of flat_, which FileSlots keeps
  Plan plan_;
};

// Reads in plan order with retries of earlier ones strewn in, submitted in groups of any size:
// whatever a group refers to is what the engine holds when the group is submitted.
class SlotGroups : public FileSlotsTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Registered, SlotGroups, ::testing::Bool());

TEST_P(SlotGroups, EachFindsItsFilesInTheSlotsItWasTold) {
  const bool registers = GetParam();
  for (const std::uint32_t slots : {3U, 8U, 20U, 40U}) {
    const std::size_t held = registers ? 0 : slots;
    for (const unsigned openers : {0U, 2U}) {
      const std::size_t before = descriptors();
      std::optional<SlotEngine> engine(std::in_place, slots, registers);
      auto files = FileSlots::open(
          catalog_, plan_,
          {.slots = slots, .direct = false, .openers = openers, .ahead = 3, .pending = 5});
      ASSERT_TRUE(files) << files.error().message();
      (*files)->start();
      Rng rng(slots);
      std::vector<std::pair<std::uint32_t, int>> group;  // read, slot
      const auto submit = [&] {
        ASSERT_TRUE((*files)->flush(*engine));
        for (const auto& [read, slot] : group) {
          ASSERT_EQ(engine->held.at(static_cast<std::size_t>(slot)),
                    "f" + std::to_string(plan_.reads[read].source));
        }
        group.clear();
      };
      for (std::uint32_t r = 0; r < plan_.reads.size(); ++r) {
        const bool retry = r > 0 && rng.below(4) == 0;
        for (const std::uint32_t read : {retry ? static_cast<std::uint32_t>(rng.below(r)) : r, r}) {
          if ((*files)->must_flush_before(read)) {
            submit();
            ASSERT_FALSE((*files)->must_flush_before(read));
          }
          group.emplace_back(read, (*files)->slot_of(read));
          ASSERT_GE(group.back().second, 0);
        }
        if (r % 64 == 0) {
          ASSERT_LE(descriptors(), before + held + 3 + 5 + 4);
        }
        if (rng.below(12) == 0) {
          submit();
        }
      }
      EXPECT_LE(engine->most_at_once, 5U);
      engine.reset();
      files->reset();
      EXPECT_EQ(descriptors(), before);
    }
  }
}

TEST_F(FileSlotsTest, AMissingFileIsAnErrnoEachTimeItIsWanted) {
  std::filesystem::remove(dir_.path("f3"));
  SlotEngine engine(6);
  auto files = FileSlots::open(catalog_, plan_, {.slots = 6, .direct = false});
  ASSERT_TRUE(files);
  (*files)->start();
  for (std::uint32_t r = 0; r < 800; ++r) {
    if ((*files)->must_flush_before(r)) {
      ASSERT_TRUE((*files)->flush(engine));
    }
    const int slot = (*files)->slot_of(r);
    EXPECT_EQ(slot == -ENOENT, plan_.reads[r].source == 3) << slot;
  }
}

// Where standard input is closed, the first that is opened gets its number.
TEST_F(FileSlotsTest, AFileMayHaveTheDescriptorZero) {
  const Fd input(::dup(STDIN_FILENO));
  SlotEngine engine(8);
  auto files = FileSlots::open(catalog_, plan_, {.slots = 8, .direct = false});
  ASSERT_TRUE(files) << files.error().message();
  ::close(STDIN_FILENO);
  (*files)->start();
  for (std::uint32_t r = 0; r < 100; ++r) {
    const int slot = (*files)->slot_of(r);
    EXPECT_TRUE((*files)->flush(engine));
    EXPECT_EQ(engine.held.at(static_cast<std::size_t>(slot)),
              "f" + std::to_string(plan_.reads[r].source));
  }
  files->reset();
  ::dup2(input.get(), STDIN_FILENO);
}

// An engine that reads nothing.
TEST_F(FileSlotsTest, WithoutOpensEachReadHasASlotWithoutAFile) {
  for (std::uint32_t f = 0; f < kFiles; ++f) {
    std::filesystem::remove(dir_.path("f" + std::to_string(f)));
  }
  SlotEngine engine(6);
  auto files = FileSlots::open(catalog_, plan_, {.slots = 6, .direct = false, .opens = false});
  ASSERT_TRUE(files) << files.error().message();
  (*files)->start();
  for (std::uint32_t r = 0; r < 800; ++r) {
    if ((*files)->must_flush_before(r)) {
      ASSERT_TRUE((*files)->flush(engine));
    }
    ASSERT_GE((*files)->slot_of(r), 0);
  }
  EXPECT_EQ(std::ranges::count(engine.held, ""), 6);
}

class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t n) {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const rlimit less{n, old_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &less);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &old_); }

 private:
  rlimit old_{};
};

TEST_F(FileSlotsTest, AffordableStaysBelowTheLimitOrSaysSo) {
  const std::size_t open = descriptors();
  for (const rlim_t limit : {open + 12, open + 30, open + 64, std::size_t{1024}}) {
    const DescriptorLimit lowered(limit);
    const auto got = FileSlots::affordable(1'000'000);
    if (!got) {
      EXPECT_LT(limit, open + 24);
      EXPECT_NE(got.error().message().find("RLIMIT_NOFILE"), std::string::npos);
      continue;
    }
    EXPECT_LE(open + got->slots + got->ahead + got->closing + got->pending, limit);
    EXPECT_GE(got->slots, 3U);
  }
  EXPECT_EQ(FileSlots::affordable(1)->slots, 4U);
}

// A file is registered for many reads, not for a few.
TEST_F(FileSlotsTest, FilesAreReadOftenFromEightReadsEachOn) {
  for (const std::size_t reads : {1U, 7U, 8U, 100U}) {
    Plan plan;
    for (std::uint32_t r = 0; r < 2 * reads; ++r) {
      plan.reads.push_back({0, 4096, r % 2});
      plan.reads.push_back({0, 4096, kFromDevice});
    }
    const auto files = FileSlots::open(catalog_, plan, {.slots = 6, .direct = false});
    ASSERT_TRUE(files) << files.error().message();
    EXPECT_EQ((*files)->read_often(), reads >= 8) << reads;
  }
}

}  // namespace
}  // namespace blksweep
