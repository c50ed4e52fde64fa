#include "replay/target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"
#include "os/file/direct_io.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"
#include "replay/addresses.h"
#include "replay/overwrite.h"
#include "replay/replay.h"

namespace blksweep {
namespace {

constexpr unsigned kMostDepth = 4096;

// As many requests as the disk's queue takes; more would wait in front of it unseen.
unsigned queue_depth(const std::string& disk) {
  const std::uint64_t requests = first_number("/sys/block/" + disk + "/queue/nr_requests");
  return static_cast<unsigned>(std::clamp<std::uint64_t>(requests, 32, 1024));
}

Result<Fd> open_device_read_only(const std::string& node) {
  Fd fd(open_kind_at(AT_FDCWD, node.c_str(), O_DIRECT, S_IFBLK));
  if (!fd) {
    return errno == ESTALE ? Result<Fd>(usage_error(node + " is no block device"))
                           : Result<Fd>(sys_error(errno, "open " + node));
  }
  return fd;
}

}  // namespace

ReplayTarget::ReplayTarget(ReplayTarget&&) noexcept = default;
ReplayTarget::~ReplayTarget() = default;

Result<ReplayTarget> ReplayTarget::open(TraceKind kind, const ReplaySettings& settings,
                                        const TraceSurvey& survey) {
  const bool blocks = kind == TraceKind::block;
  if (blocks == settings.device.empty()) {
    return usage_error(blocks ? "a block trace is replayed onto a device: give --device DEV"
                              : "a file trace is replayed onto its files: give --data DIR");
  }
  ReplayTarget t;
  BLKSWEEP_CHECK(blocks ? t.open_device(settings, survey) : t.open_folder(settings, survey));
  t.depth_ = settings.depth != 0 ? settings.depth : queue_depth(t.disk_);
  if (t.depth_ > kMostDepth) {
    return usage_error(fmt::format("--depth {}: {} at most", t.depth_, kMostDepth));
  }
  return t;
}

Result<> ReplayTarget::open_device(const ReplaySettings& settings, const TraceSurvey& survey) {
  BLKSWEEP_TRY(Fd fd, settings.writes.empty()
                          ? open_device_read_only(settings.device)
                          : open_to_overwrite(settings.device, settings.writes));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) {
    return sys_error(errno, "fstat " + settings.device);
  }
  BLKSWEEP_TRY(device_, block_device_of_dev(st.st_rdev));
  const BlockDevice& device = device_;
  if (device.size < kPageBytes) {
    return usage_error(fmt::format("{} has {} bytes: too small", settings.device, device.size));
  }
  disk_ = device.disk;
  align_ = device.logical_block;
  map_ = std::make_unique<AddressMap>(settings.addresses, survey.ends,
                                      DeviceSpace{device.size, device.logical_block});
  files_ = TargetFiles::device(std::move(fd), device.size);
  return {};
}

Result<> ReplayTarget::open_folder(const ReplaySettings& settings, const TraceSurvey& survey) {
  if (settings.addresses != AddressMode::as_is) {
    return usage_error("--addresses is of block traces: files have their own");
  }
  if (!settings.writes.empty()) {
    return usage_error("--writes is of block traces: files are never written");
  }
  const auto disk = block_device_of(settings.folder);
  disk_ = disk ? disk->disk : "";
  align_ = settings.buffered ? 1 : disk ? std::max(disk->logical_block, 512U) : kPageBytes;
  BLKSWEEP_TRY(files_,
               TargetFiles::below(settings.folder, survey.names, settings.buffered ? 0 : O_DIRECT));
  return {};
}

const char* ReplayTarget::place(const TraceRecord& record, ReplayRequest& request) {
  if (record.bytes > kLargestReplayed) {
    return "requests of more than 64 MiB";
  }
  if (!map_) {
    const char* reason = place_in_file(record, request);
    rounded_ += reason == nullptr && request.bytes > record.bytes ? 1U : 0U;
    return reason;
  }
  const auto range = map_->place(record.place, record.offset, record.bytes);
  if (!range) {
    return record.op == TraceOp::write ? kWritesBeyondDevice : kReadsBeyondDevice;
  }
  request.offset = range->begin;
  request.bytes = static_cast<std::uint32_t>(range->bytes());
  rounded_ += range->bytes() > record.bytes ? 1U : 0U;
  return nullptr;
}

const char* ReplayTarget::place_in_file(const TraceRecord& record, ReplayRequest& request) const {
  if (const char* refused = files_->refused(record.place); refused != nullptr) {
    return refused;
  }
  if (record.returned == 0) {
    return kReadsOfNothing;
  }
  if (is_beyond(record, files_->bytes(record.place))) {
    return kReadsBeyondFile;
  }
  // What was asked for beyond the end of the file moved nothing.
  const std::uint64_t moved =
      record.returned == kNotTold
          ? record.bytes
          : std::min(record.bytes, static_cast<std::uint64_t>(record.returned));
  const std::uint64_t end =
      std::min(record.offset + moved, align_up(files_->bytes(record.place), align_));
  request.offset = align_down(record.offset, align_);
  request.bytes = static_cast<std::uint32_t>(align_up(end, align_) - request.offset);
  return nullptr;
}

std::uint64_t ReplayTarget::largest(const TraceSurvey& survey) const {
  return std::min(survey.largest, kLargestReplayed) + 2 * std::uint64_t{align_};
}

}  // namespace blksweep
