#include "disk/registry.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "disk/modelled.h"
#include "os/process/process_id.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

DiskState full_state() {
  DiskState s;
  s.name = "d1";
  s.backing = "/data/ä b.img";
  s.backing_device = 42;
  s.backing_inode = 4711;
  s.size = std::uint64_t{8} << 30;
  s.model = "hdd-7200";
  s.model_toml = "kind = \"instant\"\n";
  s.speedup = 2.5;
  s.times_set = 3;
  s.device = "/dev/loop3";
  s.filesystem = "ext4";
  s.mount = "/mnt/d1";
  s.before = QueueValues{"0", "1280"};
  s.path_ns = 34'000;
  return s;
}

TEST(DiskName, LettersDigitsDashAndUnderscore) {
  for (const char* name : {"a", "d7200", "my-disk_2", "0", "ABC"}) {
    EXPECT_TRUE(check_disk_name(name)) << name;
  }
}

TEST(DiskName, PathTricksAreUsageErrorsThatQuoteTheName) {
  const std::string too_long(33, 'a');
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("../x"),
        std::string("-f"), std::string("_x"), std::string("a b"), std::string("a\n"),
        std::string("ä"), std::string("a\0b", 3), too_long}) {
    const auto checked = check_disk_name(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().exit_code, Exit::usage);
    EXPECT_NE(checked.error().message().find("'" + name + "'"), std::string::npos);
  }
}

TEST(DiskStateText, IsReadBackAsItWas) {
  const DiskState s = full_state();
  const auto back = parse_disk_state(to_json_text(s), "state.json");
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(to_json_text(*back), to_json_text(s));
  EXPECT_EQ(back->before->max_sectors_kb, "1280");
  EXPECT_EQ(back->backing, s.backing);
  EXPECT_EQ(back->speedup, 2.5);
  EXPECT_EQ(back->times_set, s.times_set);
}

// A disk may run on while the program is replaced by a newer one.
TEST(DiskStateText, OfAnOlderProgramSaysNotHowOftenItWasSet) {
  std::string text = to_json_text(full_state());
  const std::size_t at = text.find("\"times_set\": 3,");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, std::string_view("\"times_set\": 3,").size());
  const auto back = parse_disk_state(text, "state.json");
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->times_set, 0U);
}

TEST(DiskStateText, WithoutALoopDeviceNothingWasBorrowed) {
  DiskState s = full_state();
  s.before.reset();
  const auto back = parse_disk_state(to_json_text(s), "state.json");
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->before);
}

// Any cut and any wrong byte is an error that names the file, or reads as a state; never a crash.
TEST(DiskStateText, DamageIsNamed) {
  const std::string whole = to_json_text(full_state());
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    const auto read = parse_disk_state(whole.substr(0, length), "/x/state.json");
    ASSERT_FALSE(read) << length;
    EXPECT_NE(read.error().message().find("/x/state.json"), std::string::npos);
  }
  for (const std::size_t at : {std::size_t{0}, whole.size() / 3, whole.size() / 2}) {
    std::string text = whole;
    text[at] = '\xff';
    (void)parse_disk_state(text, "/x/state.json");
  }
  for (const char* text : {"null", "[]", "7", "{\"name\": 3}", "{\"name\": \"a\"}"}) {
    EXPECT_FALSE(parse_disk_state(text, "f")) << text;
  }
}

TEST(DiskRegistry, KeepsWhatIsSavedUntilItIsRemoved) {
  const TempDir dir;
  const Registry registry(dir.path());
  EXPECT_TRUE(registry.names().empty());
  ASSERT_TRUE(registry.create("d1"));
  ASSERT_TRUE(registry.save(full_state()));
  EXPECT_EQ(registry.names(), std::vector<std::string>{"d1"});
  const auto loaded = registry.load("d1");
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->device, "/dev/loop3");
  EXPECT_TRUE(registry.remove("d1"));
  EXPECT_FALSE(registry.exists("d1"));
  EXPECT_FALSE(registry.load("d1"));
}

TEST(DiskRegistry, TheSecondOfANameIsRefused) {
  const TempDir dir;
  const Registry registry(dir.path());
  ASSERT_TRUE(registry.create("d1"));
  const auto second = registry.create("d1");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().sys_errno, EEXIST);
}

TEST(DiskRegistry, AnUnknownNameListsTheOthers) {
  const TempDir dir;
  const Registry registry(dir.path());
  ASSERT_TRUE(registry.create("other"));
  const auto loaded = registry.load("mine");
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message().find("other"), std::string::npos);
}

TEST(DiskRegistry, FoldersAreForTheirOwnerAlone) {
  const TempDir dir;
  const Registry registry(dir.path());
  ASSERT_TRUE(registry.create("d1"));
  struct stat st {};
  ASSERT_EQ(::stat(registry.folder("d1").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0700U);
}

TEST(DiskRegistry, ALinkOrAnOpenFolderInTheWayIsRefused) {
  const TempDir elsewhere;
  const TempDir linked;
  std::filesystem::create_directory_symlink(elsewhere.path(), linked.path("blksweep"));
  EXPECT_FALSE(Registry(linked.path()).create("d1"));
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
  const TempDir open;
  std::filesystem::create_directory(open.path("blksweep"));
  std::filesystem::permissions(open.path("blksweep"), std::filesystem::perms::all);
  EXPECT_FALSE(Registry(open.path()).create("d1"));
}

TEST(DiskRegistry, ADaemonIsKnownByPidAndStartTime) {
  const TempDir dir;
  const Registry registry(dir.path());
  ASSERT_TRUE(registry.create("d1"));
  EXPECT_FALSE(registry.daemon("d1"));
  const ProcessId self = *own_id();
  dir.write("blksweep/disks/d1/daemon",
            std::to_string(self.pid) + " " + std::to_string(self.start_time) + "\n");
  ASSERT_TRUE(registry.daemon("d1"));
  EXPECT_EQ(registry.daemon("d1")->pid, ::getpid());
  dir.write("blksweep/disks/d1/daemon",
            std::to_string(self.pid) + " " + std::to_string(self.start_time + 1) + "\n");
  EXPECT_FALSE(registry.daemon("d1"));
  dir.write("blksweep/disks/d1/daemon", "nonsense");
  EXPECT_FALSE(registry.daemon("d1"));
}

TEST(DiskLock, KeepsASecondOneOutUntilItGoes) {
  const TempDir dir;
  const Registry registry(dir.path());
  ASSERT_TRUE(registry.create("d1"));
  { EXPECT_TRUE(DiskLock::take(registry, "d1")); }
  EXPECT_TRUE(DiskLock::take(registry, "d1"));
}

TEST(EmulatedDisk, ALoopDeviceOfSomebodyElseIsNone) {
  EXPECT_FALSE(emulated_disk("loop0", Registry("/nonexistent")));
  EXPECT_FALSE(emulated_disk("no-such-disk", Registry("/nonexistent")));
}

// Whole milliseconds are counted, and the time in the plug list is in them.
TEST(ModelledReplies, CountedMeanIsNeverMoreThanTheDiskTook) {
  DiskStat grown;
  EXPECT_EQ(counted_mean_ns(grown), 0);
  grown.read_ms = 21;
  EXPECT_EQ(counted_mean_ns(grown), 0);
  grown.reads = 40;
  EXPECT_EQ(counted_mean_ns(grown), 200e3);
  grown.reads = 100;
  EXPECT_EQ(counted_mean_ns(grown), 0);
  grown.read_ms = 0;
  EXPECT_EQ(counted_mean_ns(grown), 0);
}

TEST(EmulatedDisk, LagsWhereItTookAFifthLongerThanItsModel) {
  const ModelledReplies before{100, 10, 5e6}, now{200, 10, 15e6};  // 100 us each
  EXPECT_EQ(lag_warning("loop3", before, now, 119e3), "");
  const std::string text = lag_warning("loop3", before, now, 121e3);
  EXPECT_NE(text.find("loop3 took 121 us for a request, where its model takes 100 us"),
            std::string::npos)
      << text;
}

TEST(EmulatedDisk, IsNotJudgedByFewRepliesOrByThoseToWrites) {
  const ModelledReplies before{100, 10, 0};
  EXPECT_EQ(lag_warning("loop3", before, ModelledReplies{129, 10, 1}, 1e9), "");
  EXPECT_NE(lag_warning("loop3", before, ModelledReplies{130, 10, 1}, 1e9), "");
  EXPECT_NE(lag_warning("loop3", before, ModelledReplies{200, 15, 1}, 1e9), "");
  EXPECT_EQ(lag_warning("loop3", before, ModelledReplies{200, 16, 1}, 1e9), "");
  EXPECT_EQ(lag_warning("loop3", std::nullopt, ModelledReplies{200, 10, 1}, 1e9), "");
  EXPECT_NE(lag_warning("loop3", before, std::nullopt, 1e9).find("not known"), std::string::npos);
}

}  // namespace
}  // namespace blksweep
