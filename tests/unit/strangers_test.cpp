// What stands between us and the files, names and programs of others (docs/security.md).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/rng.h"
#include "base/text.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"
#include "os/file/trust.h"
#include "os/process/process.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

TEST(Printable, LeavesTextAloneAndShowsWhatWouldAct) {
  for (const char* text : {"", "plain text", "größe 7 µs", "日本語", "a\\b"}) {
    EXPECT_EQ(printable(text), text);
  }
  EXPECT_EQ(printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(printable("a\nb\r", /*newlines=*/true), "a\nb\\x0d");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // C1: CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "exe"),
            "\\xe2\\x80\\xae"
            "exe");  // right to left override
}

TEST(Printable, EveryByteSequenceBecomesHarmlessUtf8) {
  Rng rng(7, 1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(rng.below(12), '\0');
    std::ranges::generate(text, [&rng] { return static_cast<char>(rng.below(256)); });
    const std::string shown = printable(text);
    EXPECT_EQ(printable(shown), shown);  // nothing is left that acts
    EXPECT_TRUE(std::ranges::none_of(
        shown, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }));
  }
}

TEST(OpenRegular, NeverWaitsAndOpensFilesOnly) {
  const TempDir dir;
  dir.write("file", "bytes");
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  fs::create_directory(dir.path("folder"));
  EXPECT_TRUE(open_regular(dir.path("file")));
  for (const char* name : {"fifo", "folder"}) {
    const auto opened = open_regular(dir.path(name));
    ASSERT_FALSE(opened) << name;
    EXPECT_NE(opened.error().message().find("not a regular file"), std::string::npos);
  }
  const Fd fd(open_regular_at(AT_FDCWD, dir.path("file").c_str(), 0, Links::anywhere));
  EXPECT_EQ(::fcntl(fd.get(), F_GETFL) & O_NONBLOCK, 0);  // reads wait as others do
}

TEST(OpenRegular, BeneathFollowsLinksThatStay) {
  const TempDir dir;
  dir.write("root/a/file", "inside");
  dir.write("secret", "outside");
  fs::create_symlink("a", dir.path("root/stays"));
  fs::create_symlink("../secret", dir.path("root/leaves"));
  fs::create_symlink(dir.path("secret"), dir.path("root/absolute"));
  fs::create_symlink("..", dir.path("root/up"));
  const Fd root(::open(dir.path("root").c_str(), O_RDONLY | O_DIRECTORY));
  const auto opens = [&root](const char* path, Links links) {
    return Fd(open_regular_at(root.get(), path, 0, links));
  };
  EXPECT_TRUE(opens("stays/file", Links::beneath));
  for (const char* path : {"leaves", "absolute", "up/secret", "../secret"}) {
    EXPECT_FALSE(opens(path, Links::beneath)) << path;
    EXPECT_TRUE(opens(path, Links::anywhere)) << path;
  }
}

// A rename anywhere on the node makes the kernel unsure of a ".." that it has just followed.
TEST(OpenRegular, BeneathOpensWhileOthersRename) {
  const TempDir dir;
  dir.write("root/a/file", "inside");
  dir.write("moves", "");
  fs::create_directory(dir.path("root/b"));
  fs::create_symlink("../a/file", dir.path("root/b/link"));
  std::atomic<int> renames{0};
  std::jthread others([&](const std::stop_token& done) {
    const std::string names[] = {dir.path("moves"), dir.path("moved")};
    for (int i = 0; !done.stop_requested(); i = 1 - i) {
      ::rename(names[i].c_str(), names[1 - i].c_str());
      ++renames;
    }
  });
  const Fd root(::open(dir.path("root").c_str(), O_RDONLY | O_DIRECTORY));
  while (renames < 5'000) {
    const Fd opened(open_regular_at(root.get(), "b/link", 0, Links::beneath));
    ASSERT_TRUE(opened) << errno;
  }
}

TEST(WholeFile, IsNotChangedByItsOwnerAndIsNoLargerThanMemory) {
  const TempDir dir;
  dir.write("file", std::string(10'000, 'x'));
  const auto read = [](const std::string& path) {
    return WholeFile::read(open_regular(path)->get(), path);
  };
  const auto file = read(dir.path("file"));
  ASSERT_TRUE(file);
  fs::resize_file(dir.path("file"), 0);
  EXPECT_EQ(file->bytes().size(), 10'000U);
  EXPECT_TRUE(std::ranges::all_of(file->bytes(), [](std::byte b) { return b == std::byte{'x'}; }));
  dir.write("sparse", "x");
  std::error_code ec;
  fs::resize_file(dir.path("sparse"), std::uintmax_t{1} << 43, ec);
  if (!ec) {
    const auto sparse = read(dir.path("sparse"));
    ASSERT_FALSE(sparse);
    EXPECT_NE(sparse.error().message().find("do not fit"), std::string::npos);
  }
}

TEST(ReplacedFile, ReplacesALinkAndHonoursTheUmask) {
  const TempDir dir;
  dir.write("victim", "untouched");
  fs::create_symlink(dir.path("victim"), dir.path("link"));
  const mode_t before = ::umask(027);
  {
    auto file = ReplacedFile::begin(dir.path("link"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->commit());
  }
  ::umask(before);
  EXPECT_EQ(read_file(dir.path("victim")), "untouched");
  struct stat st {};
  ASSERT_EQ(::lstat(dir.path("link").c_str(), &st), 0);
  EXPECT_TRUE(S_ISREG(st.st_mode));
  EXPECT_EQ(st.st_mode & 0777, 0640U);
}

TEST(ReplacedFile, LeavesDevicesAndFoldersAlone) {
  const TempDir dir;
  fs::create_symlink("/dev/null", dir.path("null"));
  fs::create_directory(dir.path("folder"));
  for (const char* name : {"null", "folder"}) {
    const auto file = ReplacedFile::begin(dir.path(name));
    ASSERT_FALSE(file) << name;
    EXPECT_NE(file.error().message().find("no regular file"), std::string::npos);
  }
}

TEST(Helpers, AreNotTakenFromTheCallersPathByRoot) {
  const TempDir dir;
  dir.write("env", "#!/bin/sh\necho planted\n");
  fs::permissions(dir.path("env"), fs::perms::all);
  const std::string before = ::getenv("PATH");
  ::setenv("PATH", (dir.path() + ":" + before).c_str(), 1);
  const auto ran = run_process({.argv = {"env"}});
  ::setenv("BLKSWEEP_PATH", dir.path().c_str(), 1);
  const auto asked = run_process({.argv = {"env"}});
  ::unsetenv("BLKSWEEP_PATH");
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(ran && asked);
  EXPECT_EQ(ran->out == "planted\n", ::geteuid() != 0);
  EXPECT_EQ(asked->out, "planted\n");
}

TEST(Trust, AFolderOfOthersOrOpenToThemIsRefused) {
  const TempDir dir;
  EXPECT_TRUE(check_trusted_folder(dir.path()));
  fs::permissions(dir.path(), fs::perms::all);
  EXPECT_FALSE(check_trusted_folder(dir.path()));
  fs::permissions(dir.path(), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_TRUE(check_trusted_folder(dir.path()));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(dir.path().c_str(), 65534, 65534), 0);
    EXPECT_FALSE(check_trusted_folder(dir.path()));
    ::setenv("SUDO_UID", "65534", 1);
    EXPECT_TRUE(check_trusted_folder(dir.path()));
    ::unsetenv("SUDO_UID");
  }
}

TEST(ShellWords, AreOneWordToAShellWhateverTheyHold) {
  EXPECT_EQ(shell_word("--window=10%"), "--window=10%");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("my data"), "'my data'");
  EXPECT_EQ(shell_word("it's $(x)"), "'it'\\''s $(x)'");
}

}  // namespace
}  // namespace blksweep
