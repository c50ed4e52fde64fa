#include "loader/file_opener.h"

#include <algorithm>

namespace blksweep {

FileOpener::FileOpener(const DataFiles& data, const std::vector<std::uint32_t>& files,
                       const Settings& settings)
    : data_(data),
      files_(files),
      ahead_(std::max(2U, settings.ahead)),
      ring_(ahead_),
      closing_(settings.threads > 0 ? settings.closing : 0),
      thread_count_(settings.threads),
      flags_(settings.flags),
      place_(settings.place) {
  for (auto* ring : {&ring_, &closing_}) {
    for (std::atomic<int>& entry : *ring) {
      entry.store(kEmpty, std::memory_order_relaxed);
    }
  }
  path_.reserve(4096);
}

FileOpener::~FileOpener() {
  stop_.store(true);
  taken_.fetch_add(ahead_);  // room for everybody who waits for it
  taken_.notify_all();
  for (std::thread& t : threads_) {
    t.join();
  }
  for (auto* ring : {&ring_, &closing_}) {
    for (std::atomic<int>& entry : *ring) {
      const Fd close_what_waits(std::max(-1, entry.load()));
    }
  }
}

void FileOpener::start() {
  const auto useful = static_cast<unsigned>(std::min<std::size_t>(thread_count_, files_.size()));
  for (unsigned i = 0; i < useful; ++i) {
    threads_.emplace_back([this] { open_ahead(); });
  }
}

// Who has to wait has time to close.
bool FileOpener::wait_for_room(std::uint32_t open) {
  for (;;) {
    const std::uint32_t taken = taken_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) {
      return false;
    }
    if (open < taken + ahead_) {
      return true;
    }
    if (!close_what_waits()) {
      taken_.wait(taken, std::memory_order_acquire);
    }
  }
}

void FileOpener::open_ahead() {
  take_place(place_, Role::openers);
  std::string path;
  path.reserve(4096);
  for (;;) {
    const std::uint32_t open = claimed_.fetch_add(1, std::memory_order_relaxed);
    if (open >= files_.size() || !wait_for_room(open)) {
      return;
    }
    std::atomic<int>& entry = ring_[open % ahead_];
    entry.store(data_.open_same(files_[open], flags_, path), std::memory_order_release);
    entry.notify_one();
  }
}

bool FileOpener::close_what_waits() {
  bool any = false;
  for (std::atomic<int>& entry : closing_) {
    if (entry.load(std::memory_order_relaxed) != kEmpty) {
      const Fd closed(std::max(-1, entry.exchange(kEmpty, std::memory_order_acq_rel)));
      any = any || closed;
    }
  }
  return any;
}

// What is still there when the reader comes by again is closed by the reader: openers that are
// behind have no time for it.
void FileOpener::close(std::uint32_t open, Fd fd) {
  if (fd && !closing_.empty()) {
    std::atomic<int>& entry = closing_[open % closing_.size()];
    fd.reset(std::max(-1, entry.exchange(fd.release(), std::memory_order_acq_rel)));
  }
}

int FileOpener::take(std::uint32_t open) {
  if (threads_.empty()) {
    return data_.open_same(files_[open], flags_, path_);
  }
  std::atomic<int>& entry = ring_[open % ahead_];
  entry.wait(kEmpty, std::memory_order_acquire);
  const int fd = entry.exchange(kEmpty, std::memory_order_acq_rel);
  taken_.store(open + 1, std::memory_order_release);
  // Waking an opener costs a system call; half a ring at once is soon enough.
  if ((open + 1) % (ahead_ / 2) == 0) {
    taken_.notify_all();
  }
  return fd;
}

}  // namespace blksweep
