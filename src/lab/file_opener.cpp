#include "lab/file_opener.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace blksweep {

Result<CatalogOpener> CatalogOpener::make(const Catalog& catalog, bool direct) {
  const std::string root(catalog.root);
  Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open " + root);
  }
  return CatalogOpener(catalog, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0), std::move(fd));
}

int CatalogOpener::open(std::uint32_t file, std::string& path) const {
  path.assign(catalog_->path(file));
  int fd = ::openat(root_.get(), path.c_str(), flags_ | O_NOATIME);
  if (fd < 0 && errno == EPERM) {  // O_NOATIME is for the owner and root
    fd = ::openat(root_.get(), path.c_str(), flags_);
  }
  return fd < 0 ? -errno : fd;
}

FileOpener::FileOpener(const CatalogOpener& opener, const std::vector<std::uint32_t>& files,
                       const Settings& settings)
    : opener_(opener),
      files_(files),
      ahead_(std::max(2U, settings.ahead)),
      ring_(ahead_),
      thread_count_(settings.threads),
      binding_(settings.binding) {
  for (std::atomic<int>& entry : ring_) {
    entry.store(kEmpty, std::memory_order_relaxed);
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
  for (std::atomic<int>& entry : ring_) {
    const Fd close_what_waits(std::max(-1, entry.load()));
  }
}

void FileOpener::start() {
  const auto useful = static_cast<unsigned>(std::min<std::size_t>(thread_count_, files_.size()));
  for (unsigned i = 0; i < useful; ++i) {
    threads_.emplace_back([this] { open_ahead(); });
  }
}

bool FileOpener::wait_for_room(std::uint32_t open) const {
  for (;;) {
    const std::uint32_t taken = taken_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) {
      return false;
    }
    if (open < taken + ahead_) {
      return true;
    }
    taken_.wait(taken, std::memory_order_acquire);
  }
}

void FileOpener::open_ahead() {
  take_place(binding_, Role::openers);
  std::string path;
  path.reserve(4096);
  for (;;) {
    const std::uint32_t open = claimed_.fetch_add(1, std::memory_order_relaxed);
    if (open >= files_.size() || !wait_for_room(open)) {
      return;
    }
    std::atomic<int>& entry = ring_[open % ahead_];
    entry.store(opener_.open(files_[open], path), std::memory_order_release);
    entry.notify_one();
  }
}

int FileOpener::take(std::uint32_t open) {
  if (threads_.empty()) {
    return opener_.open(files_[open], path_);
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
