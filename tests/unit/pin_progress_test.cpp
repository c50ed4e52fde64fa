#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "node/pin/page_helper.h"
#include "node/pin/pin.h"
#include "support/temp_dir.h"

namespace blksweep {
namespace {

PinFiles four_in(const TempDir& dir) {
  for (std::size_t i = 0; i < 4; ++i) {
    dir.write("f" + std::to_string(i), "data");
  }
  return {4, [&dir](std::size_t i) { return dir.path("f" + std::to_string(i)); }};
}

// One look each 20 ms: an answer that takes longer makes it one for each file, asked before it.
TEST(PagePin, TellsHowManyFilesAreDone) {
  const TempDir dir;
  const PinFiles files = four_in(dir);
  std::vector<std::uint64_t> told;
  const auto slow = [] { return ::usleep(25'000) != 0; };
  const auto pin = PagePin::take(files, slow, [&](std::uint64_t done) { told.push_back(done); });
  ASSERT_TRUE(pin) << pin.error().text;
  told.erase(std::unique(told.begin(), told.end()), told.end());
  EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

// Larger than any address space, in memory so that no filesystem refuses its size.
class HugeFile {
 public:
  HugeFile() : fd_(::mkostemp(path.data(), O_CLOEXEC)) {
    made = fd_ && ::ftruncate(fd_.get(), std::int64_t{1} << 57) == 0;
  }
  HugeFile(const HugeFile&) = delete;
  HugeFile& operator=(const HugeFile&) = delete;
  ~HugeFile() { ::unlink(path.c_str()); }

  std::string path = "/dev/shm/blksweep-huge-XXXXXX";
  bool made = false;

 private:
  Fd fd_;
};

TEST(PageHelper, NamesTheFileThatThereIsNoMemoryFor) {
  const TempDir dir;
  const HugeFile huge;
  ASSERT_TRUE(huge.made) << "needs a tmpfs in /dev/shm";
  const PinFiles small = four_in(dir);
  const PinFiles files{4, [&](std::size_t i) { return i == 3 ? huge.path : small.path(i); }};
  auto helper = PageHelper::start(files, 1, files.count);
  ASSERT_TRUE(helper) << helper.error().message();
  std::optional<Result<PinCount>> count;
  while (!(count = helper->result(files))) {
    ::usleep(1000);
  }
  ASSERT_FALSE(*count);
  EXPECT_NE(count->error().message().find(huge.path), std::string::npos)
      << count->error().message();
}

// Whether a page of this process's memory that can be written begins with `text`; read as another
// process would, so that no sanitizer minds.
bool a_page_begins_with(const std::string& text) {
  const Fd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  std::ifstream maps("/proc/self/maps");
  std::string found(text.size(), '\0');
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0;
    char mode = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " r%c", &begin, &end, &mode) != 3 ||
        mode != 'w' || end - begin > std::uint64_t{1} << 30) {
      continue;
    }
    for (std::uint64_t at = begin; at < end; at += 4096) {
      if (::pread(memory.get(), found.data(), found.size(), static_cast<off_t>(at)) ==
              static_cast<ssize_t>(found.size()) &&
          found == text) {
        return true;
      }
    }
  }
  return false;
}

TEST(PageHelper, IsHandedTheNamesOfItsShareAlone) {
  const TempDir dir;
  const PinFiles small = four_in(dir);
  std::vector<std::size_t> asked;
  const PinFiles files{4, [&](std::size_t i) {
                         asked.push_back(i);
                         return small.path(i);
                       }};
  ASSERT_TRUE(PageHelper::start(files, 1, 3));
  EXPECT_EQ(asked, (std::vector<std::size_t>{1, 2}));
}

// A million files have names of 100 MB.
TEST(PageHelper, NamesThatWereHandedOverTakeNoMemory) {
  const TempDir dir;
  const PinFiles files = four_in(dir);
  auto helper = PageHelper::start(files, 0, files.count);
  ASSERT_TRUE(helper) << helper.error().message();
  while (!helper->result(files)) {
    ::usleep(1000);
  }
  EXPECT_FALSE(a_page_begins_with(files.path(0)));
}

// Some hosts of the library let the kernel reap their children: nobody is left to be waited for.
TEST(PageHelper, OfAnOwnerThatReapsNobodyGoes) {
  const TempDir dir;
  const PinFiles files = four_in(dir);
  {
    auto helper = PageHelper::start(files, 0, files.count);
    ASSERT_TRUE(helper) << helper.error().message();
    ::signal(SIGCHLD, SIG_IGN);
  }
  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace blksweep
