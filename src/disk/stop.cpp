// stop_disk, health_of, disk_stats. What there is to take away is asked of the kernel, so that a
// start that was killed half-way and a daemon that died can be cleaned up by the same steps.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "disk/disk.h"
#include "disk/loop_device.h"
#include "disk/timing.h"
#include "disk/unmount_patiently.h"
#include "os/block/holders.h"
#include "os/file/file.h"
#include "os/process/process_id.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr Nanos kDaemonPatience = std::chrono::seconds(60);
constexpr Nanos kUnmountPatience = std::chrono::seconds(5);

// Of a damaged state only the name is known; the rest is asked of the kernel.
Result<DiskState> state_of(const Registry& registry, const std::string& name, bool force) {
  Result<DiskState> state = registry.load(name);
  if (state || !force || !registry.exists(name)) {
    return state;
  }
  DiskState known;
  known.name = name;
  return known;
}

class Teardown {
 public:
  Teardown(const Registry& registry, DiskState state, bool force)
      : registry_(registry), state_(std::move(state)), force_(force) {}

  Result<DiskEnd> run() {
    BLKSWEEP_CHECK(look());
    BLKSWEEP_CHECK(check());
    release_stuck_daemon();
    for (const MountFacts& mount : mounts_) {
      BLKSWEEP_CHECK(unmount(mount));
    }
    BLKSWEEP_CHECK(free_loop());
    BLKSWEEP_CHECK(unmount_fuse());
    BLKSWEEP_CHECK(end_daemon());
    look_at_last_stats();
    BLKSWEEP_CHECK(remove_state());
    return std::move(end_);
  }

 private:
  // What cannot be seen would be left behind, so that it is an error.
  Result<> look() {
    BLKSWEEP_TRY(const std::optional<std::string> disk, loop_of(registry_.data_file(state_.name)));
    if (disk) {
      BLKSWEEP_TRY(const BlockDevice device, block_device_of_name(*disk));
      BLKSWEEP_TRY(mounts_, mounts_of(device));
    }
    disk_ = disk.value_or("");
    daemon_ = registry_.daemon(state_.name);
    return {};
  }

  // Everything that would refuse, before anything is changed.
  Result<> check() const {
    if (force_ || disk_.empty()) {
      return {};
    }
    if (const auto hint = rescue_hint(registry_, state_); hint && daemon_) {
      return fail(fmt::format("disk {}: {}; or give it up with --force", state_.name, *hint));
    }
    std::vector<std::string> paths{"/dev/" + disk_};
    std::ranges::transform(mounts_, std::back_inserter(paths), &MountFacts::mount_point);
    if (const auto holders = holders_of(paths); !holders.empty()) {
      return fail(fmt::format("disk {} is in use by {}: end them first; nothing was changed",
                              state_.name, to_text(holders)));
    }
    if (daemon_ && is_stopped(*daemon_)) {
      return require_running(registry_, state_.name);
    }
    return {};
  }

  // Held by a signal it would keep unmounting waiting for ever.
  void release_stuck_daemon() {
    if (force_ && daemon_ && is_stopped(*daemon_)) {
      kill_now(*daemon_);
      wait_for_end(*daemon_, kDaemonPatience);
      daemon_.reset();
      end_.warnings.emplace_back(
          "the daemon was held by a signal and was killed: what was not synced is lost");
    }
  }

  Result<> unmount(const MountFacts& facts) {
    if (!force_ && unmount_patiently(facts) == EBUSY) {
      const std::string& mount = facts.mount_point;
      const auto holders = holders_of({mount});
      return fail(fmt::format("unmount {}: busy: {}", mount,
                              holders.empty() ? "no process is seen that uses it; another mount or "
                                                "loop device may: see findmnt, losetup; or --force"
                                              : to_text(holders)));
    }
    BLKSWEEP_TRY(const std::vector<std::string> warnings, unmount_or_detach(facts));
    end_.warnings.insert(end_.warnings.end(), warnings.begin(), warnings.end());
    return {};
  }

  Result<> free_loop() {
    if (disk_.empty()) {
      return {};
    }
    if (state_.before && !state_.before->rotational.empty()) {
      // Before it is detached: afterwards it may be another's.
      remember(set_queue_value(disk_, "rotational", state_.before->rotational));
      remember(set_queue_value(disk_, "max_sectors_kb", state_.before->max_sectors_kb));
    }
    Result<> freed = detach_loop(disk_);
    if (!freed && force_) {
      remember(freed);  // goes by itself when its last user ends
      return {};
    }
    return freed;
  }

  Result<> unmount_fuse() {
    const std::string io = registry_.io_folder(state_.name);
    for (;;) {
      BLKSWEEP_TRY(const bool mounted, is_mount_point(io));
      if (!mounted) {
        return {};
      }
      if (::umount2(io.c_str(), UMOUNT_NOFOLLOW) != 0 &&
          ::umount2(io.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
        const int error = errno;
        BLKSWEEP_TRY(const bool still, is_mount_point(io));
        if (still) {  // else the daemon, which ends, was faster
          return sys_error(error, "unmount " + io);
        }
      }
    }
  }

  Result<> end_daemon() {
    if (!daemon_ || wait_for_end(*daemon_, kDaemonPatience)) {
      return {};
    }
    if (!force_) {
      return fail(fmt::format(
          "disk {}: daemon {} did not end (it may be syncing its backing file): try again, or "
          "--force",
          state_.name, daemon_->pid));
    }
    kill_now(*daemon_);
    wait_for_end(*daemon_, kDaemonPatience);
    end_.warnings.emplace_back("the daemon did not end and was killed");
    return {};
  }

  // The daemon of a start that was killed may mount, or write its files, only now; it ends by
  // itself when it finds that nobody waits for its word.
  Result<> remove_state() {
    const std::int64_t until = now_ns() + kUnmountPatience.count();
    for (;;) {
      Result<> removed = registry_.remove(state_.name);
      const int e = removed ? 0 : removed.error().sys_errno;
      if ((e != EBUSY && e != ENOTEMPTY) || now_ns() > until) {
        return removed;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      daemon_ = registry_.daemon(state_.name);
      BLKSWEEP_CHECK(unmount_fuse());
      BLKSWEEP_CHECK(end_daemon());
    }
  }

  void look_at_last_stats() {
    const Json j = parse_json(whole_text(registry_.last_stats_file(state_.name)));
    if (j.is_object() && j.contains("errors") && j["errors"].is_number() && j["errors"] != 0) {
      end_.warnings.push_back(fmt::format("{} requests failed on the backing; the last one: {}",
                                          j["errors"].get<std::uint64_t>(),
                                          j.value("last_error", std::string("?"))));
    }
    if (j.is_object() && j.value("backing_removed", false)) {
      end_.warnings.push_back(state_.backing +
                              " was removed while the disk ran: its data are gone");
    }
  }

  void remember(const Result<>& result) {
    if (!result) {
      end_.warnings.push_back(result.error().message());
    }
  }

  const Registry& registry_;
  DiskState state_;
  bool force_;
  std::string disk_;  // "loop0"; empty: none is attached
  std::vector<MountFacts> mounts_;
  std::optional<ProcessId> daemon_;
  DiskEnd end_;
};

// The daemon's descriptor of the file, by the name that the file had.
std::string descriptor_of(pid_t pid, const std::string& path) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ec)) {
    std::error_code ignored;
    if (fs::read_symlink(entry.path(), ignored).string().starts_with(path)) {
      return entry.path().string();
    }
  }
  return fmt::format("/proc/{}/fd/N", pid);
}

}  // namespace

std::optional<std::string> rescue_hint(const Registry& registry, const DiskState& state) {
  struct stat st {};
  if (state.backing == kMemoryBacking || state.backing_inode == 0) {
    return std::nullopt;
  }
  if (::stat(state.backing.c_str(), &st) == 0 && st.st_dev == state.backing_device &&
      st.st_ino == state.backing_inode) {
    return std::nullopt;
  }
  const auto id = registry.daemon(state.name);
  if (!id) {
    return state.backing + " was removed, and the daemon that held it is dead: its data are gone";
  }
  return fmt::format(
      "{} was removed; its data are there as long as the daemon lives: 'sync; cp --sparse=always "
      "{} "
      "{}.rescued'",
      state.backing, descriptor_of(id->pid, state.backing), state.backing);
}

Result<DiskEnd> stop_disk(const Registry& registry, const std::string& name, bool force) {
  BLKSWEEP_CHECK(check_disk_name(name));
  BLKSWEEP_TRY(DiskState state, state_of(registry, name, force));
  BLKSWEEP_TRY(const DiskLock lock, DiskLock::take(registry, name));
  return Teardown(registry, std::move(state), force).run();
}

DiskHealth health_of(const Registry& registry, const std::string& name) {
  const auto id = registry.daemon(name);
  if (!id) {
    return DiskHealth::dead;
  }
  return is_stopped(*id) ? DiskHealth::stopped : DiskHealth::running;
}

Result<std::string> disk_stats(const Registry& registry, const std::string& name) {
  BLKSWEEP_TRY(const DiskState state, registry.load(name));
  BLKSWEEP_CHECK(require_running(registry, name));
  const std::string path = registry.io_folder(name) + "/stats";
  std::string text = whole_text(path);
  if (text.empty()) {
    return fail("read " + path + ": nothing came: see " + registry.log_file(name));
  }
  return text;
}

}  // namespace blksweep
