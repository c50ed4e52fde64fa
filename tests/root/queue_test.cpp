// Queue settings of a real loop device: what is asked for is there, what was there comes back.
#include "node/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "node/setting.h"
#include "os/block/blockdev.h"
#include "os/file/file.h"
#include "support/borrowing_rig.h"
#include "support/loop_fs.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;
using Tree = std::map<std::string, std::string>;

// Every readable file of queue/ and below it, but the limit of discards: nothing here changes it,
// and a 0 that is written there cannot be taken back (scripts/loopfs.sh).
Tree tree_of(const std::string& disk) {
  Tree tree;
  for (const auto& entry : fs::recursive_directory_iterator("/sys/block/" + disk + "/queue")) {
    if (entry.is_regular_file() && entry.path().filename() != "discard_max_bytes") {
      tree[entry.path().string()] = whole_text(entry.path().string());
    }
  }
  return tree;
}

class Queue : public testing::Test {
 protected:
  void SetUp() override {
    const auto made = fs_.make({.mkfs = "mkfs.ext4 -q", .mount_options = "", .mib = 64});
    if (!made) {
      GTEST_SKIP() << made.error().message();
    }
    disk_ = fs_.disk().substr(fs_.disk().rfind('/') + 1);
    places_.run_folder = run_.path();
    // A loop device keeps its settings for whoever gets it next.
    at_first_ = tree_of(disk_);
    scheduler_at_first_ = scheduler_of(disk_);
    ASSERT_TRUE(write_setting("/sys/block/" + disk_ + "/queue/scheduler", "none"));
  }
  void TearDown() override {
    if (at_first_.empty()) {
      return;
    }
    const std::string queue = "/sys/block/" + disk_ + "/queue/";
    static_cast<void>(write_setting(queue + "scheduler", "none"));
    // All tags, which no file tells: a number that is there already is not looked at.
    static_cast<void>(write_setting(queue + "nr_requests", "127"));
    static_cast<void>(write_setting(queue + "nr_requests", "128"));
    static_cast<void>(write_setting(queue + "scheduler", scheduler_at_first_));
    for (int pass = 0; pass < 2; ++pass) {  // some set others
      for (const auto& [path, text] : at_first_) {
        if (whole_text(path) != text) {
          static_cast<void>(write_setting(path, text.substr(0, text.find('\n'))));
        }
      }
    }
    EXPECT_EQ(tree_of(disk_), at_first_);
  }
  Borrowing begin() const {
    auto b = Borrowing::begin(false, places_);
    EXPECT_TRUE(b);
    return *std::move(b);
  }
  std::string now(const std::string& name) const {
    return read_setting("/sys/block/" + disk_ + "/queue/" + name).value_or("?");
  }
  bool has(const std::string& scheduler) const {
    const auto all = schedulers_of(disk_);
    return std::ranges::find(all, scheduler) != all.end();
  }
  // Away from the defaults, so that a reset is seen.
  void disturb() const {
    for (const auto& [name, value] : QueueWish{{"max_sectors_kb", "512"},
                                               {"wbt_lat_usec", "3000"},
                                               {"nr_requests", "64"},
                                               {"nomerges", "1"},
                                               {"read_ahead_kb", "48"}}) {
      static_cast<void>(write_setting("/sys/block/" + disk_ + "/queue/" + name, value));
    }
  }

  LoopFs fs_;
  TempDir run_;
  std::string disk_, scheduler_at_first_;
  Tree at_first_;
  BorrowingPlaces places_;
};

// Before anybody looks at the queue somebody may have written over what was set.
TEST_F(Queue, WhatARunIsToFindIsWhatItSet) {
  Borrowing loan = begin();
  const auto set = set_queue(disk_, {{"scheduler", "mq-deadline"}, {"nomerges", "2"}}, loan);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(settings_with(*set, disk_), queue_settings(disk_));
  ASSERT_TRUE(write_setting("/sys/block/" + disk_ + "/queue/scheduler", "none"));
  ASSERT_TRUE(write_setting("/sys/block/" + disk_ + "/queue/nomerges", "0"));
  const std::string changed = changed_queue(settings_with(*set, disk_), queue_settings(disk_));
  EXPECT_TRUE(changed.find("nomerges 2, now 0; ") != std::string::npos) << changed;
  EXPECT_TRUE(changed.find("scheduler mq-deadline, now [none]") != std::string::npos) << changed;
  const std::vector<AskedGot> at_once{
      {"scheduler", "mq-deadline", "none", ""}};  // others were faster
  EXPECT_NE(changed_queue(settings_with(at_once, disk_), queue_settings(disk_)), "");
}

TEST_F(Queue, EverySchedulerAndBackLeavesEveryFileAsItWas) {
  for (const std::string& from : schedulers_of(disk_)) {
    ASSERT_TRUE(write_setting("/sys/block/" + disk_ + "/queue/scheduler", from));
    disturb();
    for (const auto& [name, value] : scheduler_tunables(disk_)) {
      static_cast<void>(write_setting("/sys/block/" + disk_ + "/queue/iosched/" + name,
                                      value == "1" ? "0" : "3"));
    }
    const Tree before = tree_of(disk_);
    for (const std::string& to : schedulers_of(disk_)) {
      {
        Borrowing b = begin();
        const auto got = set_queue(disk_, {{"scheduler", to}, {"nr_requests", "32"}}, b);
        ASSERT_TRUE(got) << got.error().message();
        EXPECT_EQ(scheduler_of(disk_), to);
        EXPECT_EQ(now("nr_requests"), "32");
        EXPECT_EQ(got->at(0).before, from);
        EXPECT_EQ(got->at(1).got, "32");
      }
      EXPECT_EQ(tree_of(disk_), before) << from << " -> " << to << " -> " << from;
    }
  }
}

// Setting the queue's limits sets read-ahead anew (Linux 6.9), nr_requests the async depth.
TEST_F(Queue, WhatWasNotAskedForStaysAsItWas) {
  disturb();
  for (const auto& [name, value] : QueueWish{{"max_sectors_kb", "256"},
                                             {"rotational", "0"},
                                             {"nomerges", "2"},
                                             {"rq_affinity", "2"},
                                             {"nr_requests", "16"},
                                             {"read_ahead_kb", "8"}}) {
    const Tree before = tree_of(disk_);
    {
      Borrowing b = begin();
      const auto got = set_queue(disk_, {{name, value}}, b);
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(got->front().got, value);
      Tree expected = before;
      expected["/sys/block/" + disk_ + "/queue/" + name] = value + "\n";
      EXPECT_EQ(tree_of(disk_), expected) << name;
    }
    EXPECT_EQ(tree_of(disk_), before) << name;
  }
}

TEST_F(Queue, AsynchronousDepthComesBackWithTheRequests) {
  if (!has("mq-deadline")) {
    GTEST_SKIP() << "the kernel has no mq-deadline";
  }
  ASSERT_TRUE(write_setting("/sys/block/" + disk_ + "/queue/scheduler", "mq-deadline"));
  static_cast<void>(write_setting("/sys/block/" + disk_ + "/queue/iosched/async_depth", "24"));
  const Tree before = tree_of(disk_);
  {
    Borrowing b = begin();
    ASSERT_TRUE(set_queue(disk_, {{"nr_requests", "100"}}, b));
  }
  EXPECT_EQ(tree_of(disk_), before);
}

TEST_F(Queue, TheOrderOfTheWishDoesNotMatter) {
  if (!has("bfq")) {
    GTEST_SKIP() << "the kernel has no bfq";
  }
  const Tree before = tree_of(disk_);
  {
    Borrowing b = begin();
    const auto got = set_queue(disk_,
                               {{"read_ahead_kb", "16"},
                                {"iosched/low_latency", "0"},
                                {"nr_requests", "50"},
                                {"max_sectors_kb", "128"},
                                {"scheduler", "bfq"}},
                               b);
    ASSERT_TRUE(got) << got.error().message();
    for (const AskedGot& one : *got) {
      EXPECT_EQ(one.got, one.asked) << one.name;
      EXPECT_EQ(now(one.name), one.asked) << one.name;
    }
    EXPECT_EQ(got->at(1).before, "") << "the tunable was not there before";
  }
  EXPECT_EQ(tree_of(disk_), before);
}

TEST_F(Queue, WhatTheKernelRoundsIsTold) {
  Borrowing b = begin();
  const auto got = set_queue(disk_, {{"read_ahead_kb", "3"}, {"nr_requests", "1"}}, b);
  ASSERT_TRUE(got) << got.error().message();
  for (const AskedGot& one : *got) {
    EXPECT_EQ(one.got, now(one.name));
    EXPECT_NE(one.got, one.asked) << one.name;
  }
}

TEST_F(Queue, ARefusalIsOneLineAndLeavesNothingChanged) {
  disturb();
  const Tree before = tree_of(disk_);
  struct Refused {
    QueueWish wish;
    std::vector<std::string> texts;
  };
  for (const Refused& c : std::vector<Refused>{
           {{{"scheduler", "no-such"}}, {"'no-such'", disk_, "none"}},
           {{{"scheduler", "a b"}}, {"'a b'", "none"}},
           {{{"nomerges", "0"}, {"nr_requests", "99999999"}},
            {"99999999", "/nr_requests", "Invalid argument"}},
           {{{"rotational", "0"}, {"max_sectors_kb", "x"}}, {"'x'", "Invalid argument"}},
           {{{"no_such_setting", "1"}}, {"no_such_setting", "nr_requests"}},
           {{{"../stat", "1"}}, {"../stat"}},
           {{{"hw_sector_size", "1"}}, {"hw_sector_size", "may be written"}},
           {{{"scheduler", schedulers_of(disk_).back()}, {"iosched/no_such", "1"}}, {"no_such"}}}) {
    Borrowing b = begin();
    const auto got = set_queue(disk_, c.wish, b);
    ASSERT_FALSE(got) << c.wish.front().second;
    for (const std::string& text : c.texts) {
      EXPECT_NE(got.error().message().find(text), std::string::npos) << got.error().message();
    }
    EXPECT_EQ(got.error().message().find('\n'), std::string::npos) << got.error().message();
    EXPECT_EQ(tree_of(disk_), before);
  }
  Borrowing b = begin();
  EXPECT_FALSE(set_queue("no_such_disk", {{"nomerges", "1"}}, b));
  EXPECT_FALSE(set_queue("../loop0", {{"nomerges", "1"}}, b));
}

TEST_F(Queue, KilledWithAnotherSchedulerEverythingComesBack) {
  if (!has("bfq")) {
    GTEST_SKIP() << "the kernel has no bfq";
  }
  disturb();
  const Tree before = tree_of(disk_);
  for (const char* step : {"before append", "after append", "before undo", "after undo"}) {
    BorrowingPlaces places = places_;
    places.at_step = [step](const char* name) {
      if (std::string(name) == step) {
        ::kill(::getpid(), SIGKILL);
      }
    };
    Child child([&] {
      auto b = Borrowing::begin(false, places);
      static_cast<void>(set_queue(disk_, {{"scheduler", "bfq"}, {"nr_requests", "32"}}, *b));
      static_cast<void>(b->restore());
    });
    EXPECT_FALSE(child.worked());
    child.kill_now();
    const auto report = restore_left_behind(false, places_);
    ASSERT_TRUE(report && report->failed.empty());
    EXPECT_EQ(tree_of(disk_), before) << step;
  }
}

TEST_F(Queue, WhatADeadHolderSetIsNotTakenForTheStateBefore) {
  disturb();
  const Tree before = tree_of(disk_);
  Child child([&] {
    auto b = std::make_unique<Borrowing>(begin());
    static_cast<void>(set_queue(disk_, {{"nr_requests", "32"}}, *b));
    b.release();  // NOLINT: it lives as long as the process
  });
  ASSERT_TRUE(child.worked());
  {
    Borrowing b = begin();
    const auto refused = set_queue(disk_, {{"nr_requests", "16"}}, b);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("pid " + std::to_string(child.pid())),
              std::string::npos);
  }
  child.kill_now();
  {
    Borrowing b = begin();
    const auto got = set_queue(disk_, {{"nr_requests", "16"}}, b);
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->front().before, "64");
  }
  EXPECT_EQ(tree_of(disk_), before);
}

// The device goes away while its settings are borrowed.
TEST_F(Queue, ARemovedDeviceNeedsNoRestoring) {
  Borrowing b = begin();
  ASSERT_TRUE(b.add({.key = "gone/queue",
                     .what = "the queue of gone",
                     .values = {{"/sys/block/gone/queue/nr_requests", "1"}}}));
  EXPECT_TRUE(b.restore());
}

// --- the node ----------------------------------------------------------------------------------

class Vm : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || ::access("/proc/sys/vm/dirty_ratio", W_OK) != 0) {
      GTEST_SKIP() << "needs root and a writable /proc/sys/vm";
    }
    places_.run_folder = run_.path();
  }
  static Tree vm() {
    Tree tree;
    for (const auto& [name, value] : tunables()) {
      tree[name] = value;
    }
    return tree;
  }
  TempDir run_;
  BorrowingPlaces places_;
};

TEST_F(Vm, RatiosAndBytesComeBackFromEachOther) {
  const Tree before = vm();
  for (const auto& [name, value] : QueueWish{{"vm/dirty_ratio", "33"},
                                             {"vm/dirty_bytes", "67108864"},
                                             {"vm/dirty_background_ratio", "3"},
                                             {"vm/dirty_background_bytes", "1048576"},
                                             {"vm/vfs_cache_pressure", "55"}}) {
    {
      auto b = Borrowing::begin(false, places_);
      const auto got = set_tunable(name, value, *b);
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(got->got, value);
      EXPECT_EQ(vm().at(name), value);
      // On top, the other of the pair.
      ASSERT_TRUE(set_tunable("vm/dirty_ratio", "7", *b));
      ASSERT_TRUE(set_tunable("vm/dirty_bytes", "33554432", *b));
      EXPECT_EQ(vm().at("vm/dirty_ratio"), "0");
    }
    EXPECT_EQ(vm(), before) << name;
  }
}

TEST_F(Vm, ARatioOfZeroComesBackTooThoughTheKernelNeedsADetour) {
  auto outer = Borrowing::begin(false, places_);
  const Tree before = vm();
  ASSERT_TRUE(set_tunable("vm/dirty_background_ratio", "1", *outer));
  ASSERT_TRUE(set_tunable("vm/dirty_background_ratio", "0", *outer));
  {
    auto b = Borrowing::begin(false, places_);
    ASSERT_TRUE(set_tunable("vm/dirty_background_bytes", "1048576", *b));
  }
  EXPECT_EQ(vm().at("vm/dirty_background_bytes"), "0");
  EXPECT_EQ(vm().at("vm/dirty_background_ratio"), "0");
  ASSERT_TRUE(outer->restore());
  EXPECT_EQ(vm(), before);
}

TEST_F(Vm, WhatThereIsHasAValue) {
  const Tree all = vm();
  EXPECT_TRUE(all.contains("vm/dirty_ratio"));
  EXPECT_EQ(all.contains("cpu/governor"), fs::exists("/sys/devices/system/cpu/cpu0/cpufreq"));
  for (const auto& [name, value] : all) {
    EXPECT_NE(value, "") << name;
  }
}

TEST_F(Vm, ARefusalNamesFileTextAndCause) {
  const Tree before = vm();
  auto b = Borrowing::begin(false, places_);
  const auto got = set_tunable("vm/dirty_ratio", "1000", *b);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message(), "write '1000' into /proc/sys/vm/dirty_ratio: Invalid argument");
  EXPECT_FALSE(set_tunable("vm/swappiness", "1", *b));
  EXPECT_FALSE(set_tunable("../kernel/panic", "1", *b));
  EXPECT_EQ(vm(), before);
}

TEST_F(Vm, AGovernorIsSetForEveryCpuOrRefusedInOneLine) {
  const Tree before = vm();
  auto b = Borrowing::begin(false, places_);
  const auto refused = set_tunable("cpu/governor", "no-such", *b);
  ASSERT_FALSE(refused);
  if (!before.contains("cpu/governor")) {
    EXPECT_EQ(refused.error().exit_code, Exit::unsupported);
    return;  // no CPU has one here: the refusal is all there is
  }
  ASSERT_TRUE(set_tunable("cpu/governor", "performance", *b));
  EXPECT_EQ(vm().at("cpu/governor"), "performance");
  ASSERT_TRUE(b->restore());
  EXPECT_EQ(vm(), before);
}

}  // namespace
}  // namespace blksweep
