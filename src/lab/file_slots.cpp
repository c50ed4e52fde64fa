#include "lab/file_slots.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace blksweep {
namespace {
constexpr std::uint32_t kNobody = 0xFFFFFFFF;
constexpr std::uint32_t kMostSlots = 4096;
}  // namespace

std::uint32_t FileSlots::affordable(std::size_t wanted, unsigned depth) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  // Half for us, at least what one queue full of different files needs twice over.
  const std::uint64_t allowed = std::min<std::uint64_t>(limit.rlim_cur / 2, kMostSlots);
  const std::uint64_t needed = std::uint64_t{2} * depth + 2;
  return static_cast<std::uint32_t>(std::max(needed, std::min<std::uint64_t>(allowed, wanted + 2)));
}

FileSlots::FileSlots(const Catalog& catalog, std::uint32_t slots, bool direct)
    : catalog_(&catalog),
      flags_(O_RDONLY | O_CLOEXEC | O_NOATIME | (direct ? O_DIRECT : 0)),
      slot_of_file_(catalog.files.size(), kNobody),
      file_in_slot_(slots, kNobody) {
  pending_.reserve(slots);
  path_.reserve(4096);
}

Result<FileSlots> FileSlots::open(const Catalog& catalog, std::uint32_t slots, bool direct) {
  FileSlots s(catalog, slots, direct);
  const std::string root(catalog.root);
  s.root_.reset(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!s.root_) {
    return sys_error(errno, "open " + root);
  }
  return s;
}

Result<> FileSlots::use_device(Engine& engine, const std::string& node, bool direct) {
  Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0)));
  if (!fd) {
    return sys_error(errno, "open " + node);
  }
  return engine.set_files(0, {&fd, 1});
}

int FileSlots::open_file(std::uint32_t file) {
  path_.assign(catalog_->path(file));
  int fd = ::openat(root_.get(), path_.c_str(), flags_);
  if (fd < 0 && errno == EPERM && (flags_ & O_NOATIME) != 0) {
    flags_ &= ~O_NOATIME;  // only owners and root may
    fd = ::openat(root_.get(), path_.c_str(), flags_);
  }
  return fd < 0 ? -errno : fd;
}

int FileSlots::slot_of(std::uint32_t file) {
  if (const std::uint32_t slot = slot_of_file_[file]; slot != kNobody) {
    return static_cast<int>(slot);
  }
  const int fd = open_file(file);
  if (fd < 0) {
    return fd;
  }
  const std::uint32_t slot = hand_;
  hand_ = hand_ + 1 == file_in_slot_.size() ? 1 : hand_ + 1;
  if (const std::uint32_t old = file_in_slot_[slot]; old != kNobody) {
    slot_of_file_[old] = kNobody;
  }
  file_in_slot_[slot] = file;
  slot_of_file_[file] = slot;
  pending_.emplace_back(fd);
  return static_cast<int>(slot);
}

Result<> FileSlots::flush(Engine& engine) {
  const std::size_t room = file_in_slot_.size() - pending_first_;
  const std::size_t before_wrap = std::min(room, pending_.size());
  const std::span<Fd> all(pending_);
  if (before_wrap > 0) {
    BLKSWEEP_CHECK(engine.set_files(pending_first_, all.first(before_wrap)));
  }
  if (before_wrap < all.size()) {
    BLKSWEEP_CHECK(engine.set_files(1, all.subspan(before_wrap)));
  }
  pending_.clear();
  pending_first_ = hand_;
  return {};
}

}  // namespace blksweep
