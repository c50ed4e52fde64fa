// A run folder of its own with plain files as settings, and processes that borrow them and end in
// all kinds of ways.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "node/journal/borrowing.h"
#include "support/temp_dir.h"

namespace blksweep {

class BorrowingRig {
 public:
  BorrowingRig() {
    std::filesystem::create_directories(dir_.path("run"));
    std::filesystem::create_directories(dir_.path("sys"));
  }

  BorrowingPlaces places() const {
    BorrowingPlaces p;
    p.run_folder = dir_.path("run");
    p.permitted = {dir_.path("sys")};
    return p;
  }
  // With an end by SIGKILL just at the `nth` time that a step of that name is reached.
  BorrowingPlaces dying_at(const std::string& step, int nth) const {
    BorrowingPlaces p = places();
    p.at_step = [step, left = nth](const char* name) mutable {
      if (step == name && --left == 0) {
        ::kill(::getpid(), SIGKILL);
      }
    };
    return p;
  }

  std::string setting(const std::string& name) const { return dir_.path("sys/" + name); }
  std::string set(const std::string& name, const std::string& value) const {
    dir_.write("sys/" + name, value + "\n");
    return setting(name);
  }
  std::string get(const std::string& name) const {
    std::string text = read_file(setting(name));
    return text.substr(0, text.find_last_not_of('\n') + 1);
  }

  std::string journals() const { return dir_.path("run/blksweep/journal"); }
  std::vector<std::string> journal_files() const {
    std::vector<std::string> files;
    std::error_code ec;
    for (const auto& entry : std::filesystem::directory_iterator(journals(), ec)) {
      files.push_back(entry.path().string());
    }
    return files;
  }
  RestoreReport restore(bool discard = false) const {
    auto report = restore_left_behind(discard, places());
    EXPECT_TRUE(report) << report.error().message();
    return report.value_or(RestoreReport{});
  }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

// A forked process; ended by SIGKILL and reaped with the object.
class Child {
 public:
  // `work` runs in the child, which then waits for its end; ready() returns when it has worked.
  explicit Child(const std::function<void()>& work) {
    EXPECT_EQ(::pipe(ready_), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      work();
      [[maybe_unused]] const ssize_t n = ::write(ready_[1], "x", 1);
      for (;;) {
        ::pause();
      }
    }
    ::close(ready_[1]);
    char c = 0;
    worked_ = ::read(ready_[0], &c, 1) == 1;  // the end of the pipe: it was killed before
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill_now();
    ::close(ready_[0]);
  }

  bool worked() const { return worked_; }
  pid_t pid() const { return pid_; }
  void kill_now() {
    if (!reaped_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      reaped_ = true;
    }
  }

 private:
  int ready_[2]{-1, -1};
  pid_t pid_ = -1;
  bool worked_ = false, reaped_ = false;
};

inline bool says(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(
      lines, [&text](const std::string& l) { return l.find(text) != std::string::npos; });
}

inline Borrowing begin(const BorrowingPlaces& places, bool kept = false) {
  auto b = Borrowing::begin(kept, places);
  EXPECT_TRUE(b);
  return *std::move(b);
}

inline void expect_set(Borrowing& b, const BorrowingRig& rig, const std::string& name,
                       const std::string& value) {
  const auto got = b.set(name, {rig.setting(name), value});
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, value);
}

}  // namespace blksweep
