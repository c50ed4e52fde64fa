#include "node/cache/drop.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <string_view>
#include <thread>

#include "base/fd.h"
#include "os/block/blockdev.h"
#include "os/file/denied.h"
#include "os/file/file.h"
#include "os/memory/memory_room.h"

namespace blksweep {
namespace {

constexpr const char* kDropCaches = "/proc/sys/vm/drop_caches";
// More dirty files than this are written with one syncfs(2) first: an fsync each commits the
// filesystem's journal each time.
constexpr std::uint64_t kDirtyOneByOne = 64;
constexpr std::uint64_t kReportEvery = 256;

std::optional<std::uint64_t> bytes_of(const std::string& text, std::string_view key) {
  const auto found = meminfo(text, key);
  return found ? std::optional(found->n) : std::nullopt;
}

std::optional<std::uint64_t> known_number(const std::string& path) {
  std::istringstream in(first_line(path));
  std::uint64_t n = 0;
  return in >> n ? std::optional(n) : std::nullopt;
}

bool may_be_dirty(const Residency& r) {
  return r.dirty_pages.value_or(1) + r.writeback_pages.value_or(1) > 0;
}

struct Left {
  std::size_t file = 0;
  Residency residency;
  std::vector<PageHold> holds;
};

class TreeDropper {
 public:
  TreeDropper(const FileSet& files, const std::atomic<bool>& stop,
              const std::function<void(std::uint64_t)>& seen)
      : files_(files), stop_(stop), seen_(seen) {}

  TreeDrop run() {
    look();
    if (dirty_files_ > kDirtyOneByOne) {
      if (const Fd root(::open(files_.root().c_str(), O_RDONLY | O_CLOEXEC)); root) {
        ::syncfs(root.get());  // a failure shows in the fsync of the file that it concerns
      }
    }
    evict();
    if (!left_.empty()) {
      trace();
      page_out_mapped();
      settle();
    }
    return std::move(out_);
  }

 private:
  bool step() {
    if (seen_ && ++steps_ % kReportEvery == 0) {
      seen_(steps_);
    }
    out_.interrupted = out_.interrupted || stop_.load();
    return !out_.interrupted;
  }

  void look() {
    for (std::size_t i = 0; i < files_.size() && step(); ++i) {
      const Fd fd(files_.open(i, scratch_));
      const Residency r = residency_in(files_, i, fd);
      dirty_files_ += r.unreadable == 0 && may_be_dirty(r) ? 1U : 0U;
      out_.before.add(r);
    }
  }

  void evict() {
    for (std::size_t i = 0; i < files_.size() && step(); ++i) {
      const Fd fd(files_.open(i, scratch_));
      Residency r = residency_in(files_, i, fd);
      if (fd && (r.unreadable > 0 || r.resident_pages > 0)) {
        write_out(i, fd.get(), r);
        ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
        r = residency_in(files_, i, fd);
      }
      if (r.resident_pages > 0) {
        remember(i, fd.get(), r);
      } else {
        out_.after.add(r);
      }
    }
  }

  void write_out(std::size_t i, int fd, const Residency& r) {
    if ((r.unreadable > 0 || may_be_dirty(r)) && ::fsync(fd) != 0) {
      const int error = errno;
      if (out_.unwritten++ == 0) {
        out_.first_unwritten = "fsync " + files_.path(i) + ": " + std::strerror(error);
      }
    }
  }

  void remember(std::size_t i, int fd, const Residency& r) {
    struct stat st {};
    if (::fstat(fd, &st) == 0) {
      by_inode_.files.emplace(st.st_ino, left_.size());
    }
    left_.push_back({i, r, {}});
  }

  void trace() {
    by_inode_.root = files_.real_root();
    by_inode_.device = files_.device();
    PageHolds found = page_holds(by_inode_);
    out_.unseen_processes = found.unseen;
    for (PageHold& hold : found.holds) {
      left_[hold.file].holds.push_back(std::move(hold));
    }
  }

  void page_out_mapped() {
    for (const Left& left : left_) {
      for (const PageHold& hold : left.holds) {
        if (hold.kind == HoldKind::mapped) {
          // A refusal shows as pages that stay.
          [[maybe_unused]] const Result<> asked = page_out(hold);
        }
      }
    }
  }

  void settle() {
    for (Left& left : left_) {
      const Fd fd(files_.open(left.file, scratch_));
      if (fd) {
        ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
      }
      left.residency = residency_in(files_, left.file, fd);
      out_.after.add(left.residency);
      if (left.residency.resident_pages > 0) {
        count(left);
      } else if (!left.holds.empty()) {
        ++out_.paged_out;
      }
    }
  }

  void count(Left& left) {
    StayedCount& stayed = out_.stayed;
    const auto held = [&left](HoldKind kind) {
      return std::ranges::any_of(left.holds, [kind](const PageHold& h) { return h.kind == kind; });
    };
    const bool dirty =
        left.residency.dirty_pages.value_or(0) + left.residency.writeback_pages.value_or(0) > 0;
    std::uint64_t& reason = held(HoldKind::locked)   ? stayed.locked
                            : dirty                  ? stayed.dirty
                            : held(HoldKind::mapped) ? stayed.mapped
                            : held(HoldKind::open)   ? stayed.open
                                                     : stayed.unexplained;
    ++reason;
    ++stayed.files;
    stayed.bytes += left.residency.resident_bytes;
    if (out_.named.size() < TreeDrop::kNamed) {
      out_.named.push_back(
          {files_.path(left.file), left.residency.resident_bytes, dirty, std::move(left.holds)});
    }
  }

  const FileSet& files_;
  const std::atomic<bool>& stop_;
  const std::function<void(std::uint64_t)>& seen_;
  TreeDrop out_;
  std::string scratch_;
  std::uint64_t dirty_files_ = 0, steps_ = 0;
  std::vector<Left> left_;  // what DONTNEED did not evict
  HeldFiles by_inode_;      // its numbers index left_
};

// What was dropped is freed by RCU callbacks after a grace period, on all CPUs; unless they are
// waited for, that work falls into the run that follows: docs/journal/2026-11-23-cold-start.md.
// Kernels without the parameter (rcu_barrier, root only) get two grace periods: callbacks of the
// first have mostly run by the end of the second.
void wait_until_freed() {
  const Fd fd(::open("/sys/module/rcutree/parameters/do_rcu_barrier", O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), "1", 1) != 1) {
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  }
}

Result<> ask_to_drop(const Fd& fd, DropKind kind) {
  const char digit = static_cast<char>('0' + static_cast<int>(kind));
  if (::write(fd.get(), &digit, 1) != 1) {
    return sys_error(errno, std::string("write ") + digit + " to " + kDropCaches);
  }
  return {};
}

// xfs keeps inodes that its log has and its disk has not; asked to drop them it writes them back,
// in the background, and they go the next time.
Result<> drop_written_back(const Fd& fd) {
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    BLKSWEEP_CHECK(ask_to_drop(fd, DropKind::inodes));
  }
  return {};
}

}  // namespace

NodeCaches node_caches() {
  const std::string text = whole_text("/proc/meminfo");
  NodeCaches c;
  c.device_pages = bytes_of(text, "Buffers");
  c.tmpfs = bytes_of(text, "Shmem");
  if (const auto cached = bytes_of(text, "Cached"); cached && c.tmpfs) {
    c.file_pages = *cached - std::min(*cached, *c.tmpfs);  // Cached holds tmpfs too
  }
  c.dirty = bytes_of(text, "Dirty");
  c.mapped = bytes_of(text, "Mapped");
  c.locked = bytes_of(text, "Mlocked");
  c.reclaimable_slab = bytes_of(text, "SReclaimable");
  c.inodes = known_number("/proc/sys/fs/inode-nr");
  c.dentries = known_number("/proc/sys/fs/dentry-state");
  return c;
}

Result<> drop_node(DropKind kind) {
  ::sync();
  const Fd fd(::open(kDropCaches, O_WRONLY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    return unsupported(std::string("open ") + kDropCaches + ": " + std::strerror(error) + "; " +
                       denied_words(error, "dropping caches needs root"));
  }
  BLKSWEEP_CHECK(ask_to_drop(fd, kind));
  // Pages go before slabs. Blocks of metadata that a journal (jbd2) remembers have their pages
  // held by its entries, which are slabs: they go the second time.
  if (kind == DropKind::all) {
    BLKSWEEP_CHECK(ask_to_drop(fd, DropKind::pages));
  }
  if (kind != DropKind::pages && std::ranges::count(mounts(), "xfs", &MountFacts::filesystem) > 0) {
    BLKSWEEP_CHECK(drop_written_back(fd));
  }
  wait_until_freed();
  return {};
}

TreeDrop drop_tree(const FileSet& files, const std::atomic<bool>& stop,
                   const std::function<void(std::uint64_t)>& seen) {
  return TreeDropper(files, stop, seen).run();
}

}  // namespace blksweep
