#include "os/file/write_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "os/file/xfs_remaps.h"

namespace blksweep {
namespace {

// truncate(2) needs no open file; who renames another one over it, or removes it, does not write
// it, and the inode goes when its last reader closes it: its count of links is changed at once. Two
// that change their names, or their folders', keep all that a file is asked for.
constexpr std::uint64_t kEvents =
    FAN_CLOSE_WRITE | FAN_MODIFY | FAN_ATTRIB | FAN_DELETE_SELF | FAN_MOVE_SELF | FAN_ONDIR;
constexpr std::size_t kEventBytes = std::size_t{64} << 10;

// Events follow each other unaligned: a file handle is as long as it is.
template <class T>
T read_as(std::span<const unsigned char> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

// A handle of a file that is gone cannot be opened any more, but says its inode; 0: not that we
// know.
std::uint64_t inode_in(const file_handle& handle, std::span<const unsigned char> bytes) {
  constexpr int kIno32 = 1, kIno32Parent = 2, kXfsIno64 = 0x81, kBtrfs = 0x4d;  // linux/exportfs.h
  switch (handle.handle_type) {
    case kIno32:
    case kIno32Parent:
      return read_as<std::uint32_t>(bytes);
    case kXfsIno64:
    case kBtrfs:
      return read_as<std::uint64_t>(bytes);
    default:
      return 0;
  }
}

// The inode behind an event; 0: not known.
std::uint64_t inode_of(int mount, std::span<const unsigned char> event) {
  constexpr std::size_t kHead = sizeof(fanotify_event_metadata);
  constexpr std::size_t kInfo = sizeof(fanotify_event_info_fid);
  if (event.size() < kHead + kInfo) {
    return 0;
  }
  const auto info = read_as<fanotify_event_info_header>(event.subspan(kHead));
  if (info.info_type != FAN_EVENT_INFO_TYPE_FID || info.len < kInfo + sizeof(file_handle) ||
      kHead + info.len > event.size()) {
    return 0;
  }
  const std::span<const unsigned char> bytes = event.subspan(kHead + kInfo, info.len - kInfo);
  std::vector<std::uint64_t> aligned(bytes.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  auto* const handle = reinterpret_cast<file_handle*>(aligned.data());
  const Fd fd(::open_by_handle_at(mount, handle, O_PATH | O_CLOEXEC));
  struct stat st {};
  return fd && ::fstat(fd.get(), &st) == 0 ? st.st_ino
                                           : inode_in(*handle, bytes.subspan(sizeof *handle));
}

}  // namespace

WriteWatch::WriteWatch(Fd events, Fd mount)
    : events_(std::move(events)), mount_(std::move(mount)), remaps_(xfs_remaps(mount_.get())) {}

// Since the call before. Where the kernel does not count, always.
bool WriteWatch::remapped() {
  const std::optional<std::string> before = std::exchange(remaps_, xfs_remaps(mount_.get()));
  return remaps_ && (remaps_->empty() || remaps_ != before);
}

Result<WriteWatch> WriteWatch::begin(const std::string& path) {
  Fd mount(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!mount) {
    return sys_error(errno, "open " + path);
  }
  constexpr unsigned kFlags =
      FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_FID | FAN_UNLIMITED_QUEUE;
  Fd events(::fanotify_init(kFlags, O_RDONLY | O_CLOEXEC));
  if (!events) {
    return sys_error(errno, "fanotify");
  }
  if (::fanotify_mark(events.get(), FAN_MARK_ADD | FAN_MARK_FILESYSTEM, kEvents, mount.get(),
                      ".") != 0) {
    return sys_error(errno, "watch the filesystem of " + path + " (fanotify)");
  }
  return WriteWatch(std::move(events), std::move(mount));
}

Result<std::vector<std::uint64_t>> WriteWatch::touched() {
  std::vector<std::uint64_t> inodes;
  std::vector<unsigned char> buffer(kEventBytes);
  while (true) {
    const ssize_t n = ::read(events_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      if (n < 0 && errno != EAGAIN) {
        return sys_error(errno, "fanotify events");
      }
      break;
    }
    std::span<const unsigned char> left(buffer.data(), static_cast<std::size_t>(n));
    while (left.size() >= sizeof(fanotify_event_metadata)) {
      const auto event = read_as<fanotify_event_metadata>(left);
      if (event.event_len < sizeof event || event.event_len > left.size()) {
        return fail("fanotify gave an event of no length that can be");
      }
      if ((event.mask & FAN_Q_OVERFLOW) != 0) {
        return fail("fanotify lost events");
      }
      inodes.push_back(inode_of(mount_.get(), left.first(event.event_len)));
      left = left.subspan(event.event_len);
    }
  }
  if (remapped()) {
    inodes.push_back(0);
  }
  std::ranges::sort(inodes);
  inodes.erase(std::unique(inodes.begin(), inodes.end()), inodes.end());
  return inodes;
}

std::optional<bool> held_for_writing(int fd) {
  // Whoever opens it for writing between the two calls waits that long, and the kernel tells us by
  // a signal: SIGURG is ignored unless asked for, SIGIO would end the process.
  if (::fcntl(fd, F_SETSIG, SIGURG) != 0) {
    return std::nullopt;
  }
  if (::fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno == EAGAIN ? std::optional(true) : std::nullopt;
}

}  // namespace blksweep
