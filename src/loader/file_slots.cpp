#include "loader/file_slots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace blksweep {
namespace {

constexpr std::uint32_t kMostSlots = 4096;
constexpr std::uint32_t kMostAhead = 256;
constexpr std::uint32_t kScarceAhead = 64;
constexpr std::uint32_t kOtherSlots = 2;  // the device's and the one for retries
constexpr std::uint64_t kForOthers = 12;  // ring, device, journal of the database, sysfs ...
constexpr int kNoFile = -1;
constexpr std::uint64_t kLeastForFiles = 8;  // 4 slots, 2 ahead, 2 pending
constexpr std::size_t kOften = 8;  // reads: registering a file costs what a dozen of them save

std::uint64_t descriptors_open() {
  std::error_code ignored;
  const std::filesystem::directory_iterator all("/proc/self/fd", ignored);
  return static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

}  // namespace

std::uint64_t descriptors_left() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t taken = descriptors_open() + kForOthers;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, taken);
}

Result<FileSlotsSettings> FileSlots::affordable(std::size_t files, std::uint64_t left) {
  if (left < kLeastForFiles) {
    return fail(
        fmt::format("RLIMIT_NOFILE leaves {} descriptors, {} are needed: raise it (ulimit -n)",
                    left, kLeastForFiles));
  }
  const auto share = [left](std::uint64_t part, std::uint64_t most) {
    return static_cast<std::uint32_t>(std::min(left / part, most));
  };
  FileSlotsSettings s;
  s.slots = share(2, std::min<std::uint64_t>(kMostSlots, files + kOtherSlots + 1));
  s.closing = share(16, kMostAhead);
  s.ahead = share(4, kMostAhead + s.closing) - s.closing;
  s.pending = share(4, kMostSlots);
  return s;
}

bool FileSlotsSettings::scarce(std::size_t files) const {
  return ahead < std::min<std::size_t>(kScarceAhead, files);
}

FileSlots::FileSlots(DataFiles data, OpenPlan plan, const FileSlotsSettings& settings)
    : data_(std::move(data)),
      opens_(settings.opens),
      flags_(settings.direct ? O_DIRECT : 0),
      plan_(std::move(plan)),
      ahead_(data_, plan_.files,
             {settings.openers, settings.ahead, settings.closing, settings.place, flags_}),
      retry_slot_(settings.slots - 1),
      most_pending_(std::clamp(settings.pending, 1U, plan_.capacity)),
      error_in_slot_(settings.slots) {
  pending_.reserve(most_pending_);
  path_.reserve(4096);
}

Result<std::unique_ptr<FileSlots>> FileSlots::open(const Catalog& catalog, const Plan& plan,
                                                   const FileSlotsSettings& settings) {
  BLKSWEEP_TRY(DataFiles data, DataFiles::open_same_root(catalog));
  if (settings.opens && settings.by_handle) {
    BLKSWEEP_CHECK(data.use_handles());
  }
  OpenPlan opens = make_open_plan(plan, catalog.files.size(), settings.slots - kOtherSlots);
  return std::unique_ptr<FileSlots>(new FileSlots(std::move(data), std::move(opens), settings));
}

bool FileSlots::read_often() const { return plan_.reads >= kOften * plan_.files.size(); }

// Always direct: the block device's page cache is not coherent with that of the files.
Result<> FileSlots::use_device(Engine& engine, const std::string& node) {
  Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!fd) {
    return sys_error(errno, "open " + node);
  }
  return engine.set_files(0, {&fd, 1});
}

int FileSlots::open_next(std::uint32_t open) {
  const int fd = opens_ ? ahead_.take(open) : kNoFile;
  const std::uint32_t slot = plan_.slot(open);
  error_in_slot_[slot] = fd < 0 && opens_ ? fd : 0;
  pending_.emplace_back(std::max(fd, -1));
  ++opened_;
  return fd < 0 && opens_ ? fd : static_cast<int>(slot);
}

// A retry of a read whose file has been closed meanwhile.
int FileSlots::reopen(std::uint32_t open) {
  const int fd = data_.open_same(plan_.files[open], flags_, path_);
  if (fd < 0) {
    return fd;
  }
  pending_retry_.reset(fd);
  return static_cast<int>(retry_slot_);
}

// The next open takes the slot of the open `capacity` before it; there is one slot for retries.
bool FileSlots::must_flush_before(std::uint32_t read) const {
  const std::uint32_t open = plan_.open_of[read];
  if (open == opened_) {
    const bool in_use = oldest_use_ != kUnused && oldest_use_ + plan_.capacity <= opened_;
    return in_use || pending_.size() >= most_pending_;
  }
  return closed_again(open) && pending_retry_;
}

int FileSlots::slot_of(std::uint32_t read) {
  const std::uint32_t open = plan_.open_of[read];
  if (closed_again(open)) {
    return reopen(open);
  }
  oldest_use_ = std::min(oldest_use_, open);
  if (open == opened_) {
    return open_next(open);
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
    for (Fd& fd : rest.first(before_wrap)) {
      ahead_.close(pending_first_++, std::move(fd));
    }
    rest = rest.subspan(before_wrap);
  }
  pending_.clear();
  oldest_use_ = kUnused;
  if (pending_retry_) {
    BLKSWEEP_CHECK(engine.set_files(retry_slot_, {&pending_retry_, 1}));
    pending_retry_.reset();  // what came back is not of this retry
  }
  return {};
}

}  // namespace blksweep
