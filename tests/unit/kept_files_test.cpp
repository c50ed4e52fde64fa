#include "os/file/kept_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

TEST(KeptFiles, AreNotWrittenOverByAnyName) {
  const TempDir dir;
  const std::string kept = dir.path("results.db");
  std::ofstream(kept) << "rows";
  fs::create_hard_link(kept, dir.path("hard"));
  fs::create_symlink(kept, dir.path("soft"));
  for (const char* name : {"results.db", "./results.db", "hard", "soft"}) {
    const Result<> refused = check_kept("-o", dir.path(name), {.files = {"", "another", kept}});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().message(), "-o " + dir.path(name) + ": would take the place of " +
                                             kept +
                                             ", which this command reads: name another file");
  }
}

TEST(KeptFiles, ThatAreNotThereYetAreKnownByTheirNames) {
  const TempDir dir;
  EXPECT_FALSE(check_kept("--timeline", dir.path("./new.db"), {.files = {dir.path("new.db")}}));
  EXPECT_TRUE(check_kept("--timeline", dir.path("new.json"), {.files = {dir.path("new.db")}}));
}

TEST(KeptFiles, AnEmptyNameIsOfNoFile) {
  EXPECT_TRUE(check_kept("-o", "", {.files = {"", "results.db"}, .data_set = "."}));
}

// Of a folder some of whose files are read, what is there; of a data set, whatever would be a
// sample.
TEST(KeptFiles, OfAFolderAreThoseBelowItByAnyPath) {
  const TempDir dir;
  fs::create_directories(dir.path("set/class"));
  fs::create_directory_symlink(dir.path("set"), dir.path("link"));
  std::ofstream(dir.path("set/class/old")) << "bytes";
  for (const char* name : {"set/class/old", "link/class/old", "set/class/../class/old"}) {
    EXPECT_FALSE(check_kept("-o", dir.path(name), {.folder = dir.path("set")})) << name;
    EXPECT_FALSE(check_kept("-o", dir.path(name), {.data_set = dir.path("link")})) << name;
  }
  EXPECT_TRUE(check_kept("-o", dir.path("set/new"), {.folder = dir.path("set")}));
  EXPECT_FALSE(check_kept("-o", dir.path("link/new"), {.data_set = dir.path("set")}));
  for (const char* name : {"set2", "set/../new", "new/set"}) {
    EXPECT_TRUE(check_kept("-o", dir.path(name), {.data_set = dir.path("set")})) << name;
  }
}

}  // namespace
}  // namespace blksweep
