#include "lab/file_slots.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace blksweep {
namespace {
constexpr std::uint32_t kMostSlots = 4096;
}  // namespace

std::uint32_t FileSlots::affordable(std::size_t wanted, unsigned depth) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  // Half for us, at least what one queue full of different files needs twice over.
  const std::uint64_t allowed = std::min<std::uint64_t>(limit.rlim_cur / 2, kMostSlots);
  const std::uint64_t needed = std::uint64_t{2} * depth + 3;
  return static_cast<std::uint32_t>(std::max(needed, std::min<std::uint64_t>(allowed, wanted + 3)));
}

FileSlots::FileSlots(CatalogOpener opener, OpenPlan plan, const FileSlotsSettings& settings)
    : opener_(std::move(opener)),
      plan_(std::move(plan)),
      ahead_(opener_, plan_.files, settings.openers),
      retry_slot_(settings.slots - 1),
      error_in_slot_(settings.slots) {
  pending_.reserve(settings.slots);
  path_.reserve(4096);
}

Result<std::unique_ptr<FileSlots>> FileSlots::open(const Catalog& catalog, const Plan& plan,
                                                   const FileSlotsSettings& settings) {
  BLKSWEEP_TRY(CatalogOpener opener, CatalogOpener::make(catalog, settings.direct));
  OpenPlan opens = make_open_plan(plan, catalog.files.size(), {settings.slots - 2, settings.group});
  return std::unique_ptr<FileSlots>(new FileSlots(std::move(opener), std::move(opens), settings));
}

// Always direct: the block device's page cache is not coherent with that of the files.
Result<> FileSlots::use_device(Engine& engine, const std::string& node) {
  Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!fd) {
    return sys_error(errno, "open " + node);
  }
  return engine.set_files(0, {&fd, 1});
}

int FileSlots::open_next(std::uint32_t open) {
  const int fd = ahead_.take(open);
  const std::uint32_t slot = plan_.slot(open);
  error_in_slot_[slot] = fd < 0 ? fd : 0;
  pending_.emplace_back(std::max(fd, -1));
  ++opened_;
  return fd < 0 ? fd : static_cast<int>(slot);
}

// A retry of a read whose file has been closed meanwhile.
int FileSlots::reopen(std::uint32_t open) {
  const int fd = opener_.open(plan_.files[open], path_);
  if (fd < 0) {
    return fd;
  }
  pending_retry_.reset(fd);
  return static_cast<int>(retry_slot_);
}

int FileSlots::slot_of(std::uint32_t read) {
  const std::uint32_t open = plan_.open_of[read];
  if (open == opened_) {
    return open_next(open);
  }
  if (!plan_.stays(open, opened_)) {
    return reopen(open);
  }
  const std::uint32_t slot = plan_.slot(open);
  return error_in_slot_[slot] < 0 ? error_in_slot_[slot] : static_cast<int>(slot);
}

Result<> FileSlots::flush(Engine& engine) {
  std::span<Fd> rest(pending_);
  while (!rest.empty()) {
    const std::uint32_t slot = plan_.slot(pending_first_);
    const std::size_t before_wrap = std::min<std::size_t>(plan_.capacity + 1 - slot, rest.size());
    BLKSWEEP_CHECK(engine.set_files(slot, rest.first(before_wrap)));
    rest = rest.subspan(before_wrap);
    pending_first_ += static_cast<std::uint32_t>(before_wrap);
  }
  pending_.clear();
  return pending_retry_ ? engine.set_files(retry_slot_, {&pending_retry_, 1}) : Result<>();
}

}  // namespace blksweep
