// start_disk: folder, daemon, loop device, filesystem, mount; what fails takes away what was made.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "base/log.h"
#include "disk/daemon.h"
#include "disk/disk.h"
#include "disk/filesystem.h"
#include "disk/loop_device.h"
#include "disk/timing.h"
#include "os/block/holders.h"
#include "os/file/open_regular.h"
#include "os/file/trust.h"
#include "os/memory/memory_room.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
constexpr const char* kMaxSectorsKib = "1024";  // one block request is one FUSE message

Result<> check_interrupt() {
  if (stop_requested()) {
    return fail("interrupted: what was started is taken away", Exit::interrupted);
  }
  return {};
}

Result<std::string> absolute_folder(const std::string& mount) {
  BLKSWEEP_CHECK(check_way_to(mount));  // else a stranger's link says what the disk covers
  std::error_code ec;
  const fs::path folder = fs::canonical(mount, ec);
  if (ec || !fs::is_directory(folder, ec)) {
    return fail(fmt::format("--mount {}: no such folder: make it first", mount));
  }
  BLKSWEEP_TRY(const bool taken, is_mount_point(folder.string()));
  if (taken) {
    return fail(fmt::format("--mount {}: something is mounted there", mount));
  }
  return folder.string();
}

Result<> check_size(Bytes size) {
  if (size.n < kLeast || size.n % kPageBytes != 0) {
    return usage_error(
        fmt::format("--size {}B: give 1MiB or more, a multiple of {}", size.n, kPageBytes));
  }
  return {};
}

// Only what is written takes memory, so a disk may be larger than the memory; it cannot be filled.
Result<> prepare_memory(DiskState& state, const DiskWish& wish) {
  if (!wish.size) {
    return usage_error("--size is missing: how large shall the disk be?");
  }
  BLKSWEEP_CHECK(check_size(*wish.size));
  state.size = wish.size->n;
  if (const std::uint64_t free = meminfo("MemAvailable").value_or(Bytes{0}).n; state.size > free) {
    warn(fmt::format(
        "the disk of {} is larger than the {} of memory that are available: writing more than that "
        "will make the kernel end processes; use --backing FILE",
        format_bytes(Bytes{state.size}), format_bytes(Bytes{free})));
  }
  return {};
}

struct PreparedFile {
  bool created = false, fresh = false;
};

void warn_of_space(const std::string& path, std::uint64_t size) {
  struct statvfs v {};
  if (::statvfs(path.c_str(), &v) == 0 && v.f_bavail * v.f_frsize < size) {
    warn(
        fmt::format("the filesystem of {} has {} left, less than the disk's {}: writes will fail "
                    "when it is full",
                    path, format_bytes(Bytes{v.f_bavail * v.f_frsize}), format_bytes(Bytes{size})));
  }
}

Result<Fd> create_file(const std::string& path, Bytes size) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size.n)) != 0) {
    const int e = errno;
    if (fd) {
      ::unlink(path.c_str());
    }
    return sys_error(e, "create " + path);
  }
  return fd;
}

// A stranger's image lies where strangers write; which file it is, none of their links may say: a
// way with links must be nobody else's. Opened once, so what was looked at is what the disk gets.
Result<Fd> open_backing(const std::string& asked) {
  constexpr int kLook = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Fd fd(open_at(AT_FDCWD, asked.c_str(), kLook, Links::none));
  if (fd || (errno != ELOOP && errno != ENOENT)) {
    return fd ? Result<Fd>(std::move(fd)) : Result<Fd>(sys_error(errno, "open " + asked));
  }
  std::error_code ec;
  if (fs::is_symlink(asked, ec)) {
    return fail(fmt::format("--backing {}: a symbolic link: name the file itself", asked));
  }
  BLKSWEEP_CHECK(check_way_to(fs::absolute(asked).parent_path()));
  fd.reset(::open(asked.c_str(), kLook));
  return fd || errno == ENOENT ? Result<Fd>(std::move(fd))
                               : Result<Fd>(sys_error(errno, "open " + asked));
}

Result<Fd> create_backing(const DiskWish& wish) {
  if (!wish.size) {
    return usage_error(fmt::format("--size is missing: {} is not there yet", wish.backing));
  }
  BLKSWEEP_CHECK(check_size(*wish.size));
  return create_file(wish.backing, *wish.size);
}

// An existing file is taken as it is; whether it has any data decides if mkfs may run.
Result<PreparedFile> prepare_file(DiskState& state, const DiskWish& wish) {
  PreparedFile out;
  BLKSWEEP_TRY(Fd fd, open_backing(wish.backing));
  if (!fd) {
    BLKSWEEP_TRY(fd, create_backing(wish));
    out.created = true;
  }
  struct stat st {};
  std::error_code ec;
  state.backing = fs::read_symlink(fmt::format("/proc/self/fd/{}", fd.get()), ec).string();
  if (::fstat(fd.get(), &st) != 0 || ec) {
    return sys_error(ec ? ec.value() : errno, "look at " + wish.backing);
  }
  if (!S_ISREG(st.st_mode)) {
    return fail(fmt::format("--backing {}: not a regular file", wish.backing));
  }
  if (wish.size && wish.size->n != static_cast<std::uint64_t>(st.st_size)) {
    return fail(fmt::format("--backing {} has {} bytes, --size says {}: leave out --size",
                            wish.backing, st.st_size, wish.size->n));
  }
  state.size = static_cast<std::uint64_t>(st.st_size);
  state.backing_device = st.st_dev;
  state.backing_inode = st.st_ino;
  BLKSWEEP_CHECK(check_size(Bytes{state.size}));
  out.fresh = ::lseek(fd.get(), 0, SEEK_DATA) < 0 && errno == ENXIO;
  warn_of_space(state.backing, state.size);
  return out;
}

// What must go when the start does not reach its end.
class Undo {
 public:
  Undo(const Registry& registry, std::string name) : registry_(registry), name_(std::move(name)) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    if (!kept_) {
      const auto ended = stop_disk(registry_, name_, /*force=*/true);
      if (!ended) {
        warn(ended.error().message());
      }
      if (!created_file.empty()) {
        ::unlink(created_file.c_str());
      }
    }
  }
  void keep() { kept_ = true; }
  std::string created_file;

 private:
  const Registry& registry_;
  std::string name_;
  bool kept_ = false;
};

Result<> make_folder(const Registry& registry, const std::string& name) {
  const Result<> made = registry.create(name);
  if (made || made.error().sys_errno != EEXIST) {
    return made;
  }
  if (const auto id = registry.daemon(name)) {
    return fail(
        fmt::format("disk {} is there already (daemon {}): 'blksweep disk stop {}' or another name",
                    name, id->pid, name));
  }
  return fail(fmt::format(
      "disk {} is left over from a daemon that died or a start that was killed: 'blksweep disk "
      "stop {}' cleans up",
      name, name));
}

Result<> attach(const Registry& registry, DiskState& state, const DiskWish& wish) {
  BLKSWEEP_TRY(const AttachedLoop loop,
               attach_loop(registry.data_file(state.name), {.number = wish.loop}));
  state.device = "/dev/" + loop.disk;
  state.before = loop.before;
  BLKSWEEP_CHECK(registry.save(state));
  const bool rotating = std::holds_alternative<RotatingSpec>(wish.model.timing);
  BLKSWEEP_CHECK(set_queue_value(loop.disk, "rotational", rotating ? "1" : "0"));
  return set_queue_value(loop.disk, "max_sectors_kb", kMaxSectorsKib);
}

Result<> make_and_mount(const DiskState& state, bool fresh) {
  if (state.filesystem.empty()) {
    return {};
  }
  BLKSWEEP_CHECK(make_filesystem(state.device, state.filesystem, fresh));
  BLKSWEEP_CHECK(check_interrupt());
  return mount_filesystem(state.device, state.filesystem, state.mount);
}

Result<> bring_up(const Registry& registry, DiskState& state, const DiskWish& wish, bool fresh) {
  BLKSWEEP_CHECK(registry.save(state));
  BLKSWEEP_CHECK(start_disk_daemon(registry, state.name));
  BLKSWEEP_CHECK(check_interrupt());
  BLKSWEEP_CHECK(attach(registry, state, wish));
  BLKSWEEP_TRY(state.path_ns, measure_path(registry, state));
  BLKSWEEP_CHECK(check_interrupt());
  // Without delay still: making a filesystem is not what anybody wants to wait for.
  BLKSWEEP_CHECK(make_and_mount(state, fresh));
  BLKSWEEP_CHECK(check_interrupt());
  BLKSWEEP_CHECK(apply_timing(registry, state));
  return registry.save(state);
}

}  // namespace

Result<> check_disk_rights() {
  if (::geteuid() != 0) {
    return unsupported("an emulated disk needs root (loop devices, FUSE, mount): run it as root");
  }
  for (const char* node : {"/dev/fuse", "/dev/loop-control"}) {
    const Fd fd(::open(node, O_RDWR | O_CLOEXEC));
    if (!fd) {
      return unsupported(sys_error(errno, std::string("open ") + node).value().message() +
                         ": an emulated disk needs it (modprobe fuse loop; in a container: give "
                         "it the device)");
    }
  }
  return {};
}

Result<DiskState> start_disk(const Registry& registry, const DiskWish& wish) {
  BLKSWEEP_CHECK(check_disk_name(wish.name));
  BLKSWEEP_CHECK(check_disk_rights());
  DiskState state;
  state.name = wish.name;
  state.model = wish.model.name;
  state.model_toml = to_toml(wish.model);
  state.speedup = wish.speedup;
  state.filesystem = wish.filesystem;
  if (!wish.mount.empty()) {
    BLKSWEEP_TRY(state.mount, absolute_folder(wish.mount));
  }
  BLKSWEEP_CHECK(make_folder(registry, wish.name));
  Undo undo(registry, wish.name);
  PreparedFile file{.created = false, .fresh = true};
  if (wish.backing == kMemoryBacking) {
    BLKSWEEP_CHECK(prepare_memory(state, wish));
    state.image = wish.image;
    file.fresh = wish.image.empty();
  } else {
    BLKSWEEP_TRY(file, prepare_file(state, wish));
  }
  undo.created_file = file.created ? state.backing : "";
  BLKSWEEP_CHECK(bring_up(registry, state, wish, file.fresh));
  undo.keep();
  return state;
}

Result<DiskState> set_disk(const Registry& registry, const std::string& name,
                           const DiskChange& change) {
  BLKSWEEP_CHECK(registry.load(name));  // names those there are
  BLKSWEEP_TRY(const DiskLock lock, DiskLock::take(registry, name));
  BLKSWEEP_TRY(DiskState state, registry.load(name));  // as whoever had the lock left it
  if (change.model) {
    state.model = change.model->name;
    state.model_toml = to_toml(*change.model);
    const bool rotating = std::holds_alternative<RotatingSpec>(change.model->timing);
    BLKSWEEP_TRY(const std::optional<std::string> disk, loop_of(registry.data_file(name)));
    if (disk) {
      BLKSWEEP_CHECK(set_queue_value(*disk, "rotational", rotating ? "1" : "0"));
    }
  }
  state.speedup = change.speedup.value_or(state.speedup);
  ++state.times_set;
  BLKSWEEP_CHECK(apply_timing(registry, state));
  BLKSWEEP_CHECK(registry.save(state));
  return state;
}

}  // namespace blksweep
