#include "replay/target_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>

#include "io/read_loop.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

constexpr const char* kOnAnotherFilesystem =
    "files on a filesystem that is mounted below the folder";
constexpr unsigned kMostSlots = 32768;  // of a ring's table (Linux 5.13: 2^20; memory is ours)

unsigned affordable_slots() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<unsigned>(std::clamp<rlim_t>(limit.rlim_cur / 2, 16, kMostSlots));
}

const char* refusal_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return kFilesNotThere;
    case EXDEV:
    case ELOOP:
      return "names that lead out of the folder";
    case ESTALE:
    case EISDIR:
      return "names of no regular file";
    case EINVAL:
      return kNotDirect;
    default:
      return "files that cannot be opened";
  }
}

// Device and mount of an open file. Another mount of the same filesystem is the same disk, and
// btrfs and overlay give numbers of their own to what is none; only both together say elsewhere.
struct Whereabouts {
  dev_t device = 0;
  std::uint64_t mount = 0;
};

Whereabouts whereabouts_of(int fd) {
  struct statx st {};
  return ::statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) != 0
             ? Whereabouts{}
             : Whereabouts{makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_mnt_id};
}

// Climbing within a folder is harmless for the kernel, but no recorder writes such a name.
bool climbs(const std::string& name) {
  return name.empty() || name.front() == '/' ||
         ("/" + name + "/").find("/../") != std::string::npos;
}

}  // namespace

TargetFiles TargetFiles::device(Fd fd, std::uint64_t bytes) {
  TargetFiles t;
  t.device_ = true;
  t.files_.resize(1);
  t.files_[0].bytes = bytes;
  t.in_slot_.resize(1);
  t.pending_.emplace_back(0, std::move(fd));
  return t;
}

Result<TargetFiles> TargetFiles::below(const std::string& folder,
                                       const std::vector<std::string>& names, int flags) {
  TargetFiles t;
  t.folder_ = Fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!t.folder_) {
    return sys_error(errno, "open " + folder);
  }
  t.flags_ = flags;
  t.slots_ = std::min<unsigned>(affordable_slots(),
                                static_cast<unsigned>(std::max<std::size_t>(1, names.size())));
  t.in_slot_.resize(t.slots_);
  const Whereabouts folder_is = whereabouts_of(t.folder_.get());
  for (const std::string& name : names) {
    File file{.name = name};
    struct stat st {};
    if (climbs(name)) {
      file.refused = refusal_of(EXDEV);
    } else if (const Fd fd = t.open(file); !fd || ::fstat(fd.get(), &st) != 0) {
      file.refused = refusal_of(errno);
    } else if (const Whereabouts w = whereabouts_of(fd.get());
               w.device != folder_is.device && w.mount != folder_is.mount) {
      file.refused = kOnAnotherFilesystem;
    }
    file.bytes = static_cast<std::uint64_t>(st.st_size);
    t.files_.push_back(std::move(file));
  }
  return t;
}

Fd TargetFiles::open(const File& file) const {
  return Fd(open_regular_at(folder_.get(), file.name.c_str(), flags_, Links::beneath));
}

Result<> TargetFiles::start(Engine& engine) {
  for (std::uint32_t place = 0; place < files_.size() && next_slot_ < slots_ && !device_; ++place) {
    if (files_[place].refused == nullptr) {
      slot_of(place);
      BLKSWEEP_CHECK(flush(engine));
    }
  }
  return flush(engine);
}

int TargetFiles::slot_of(std::uint32_t place) {
  if (device_) {
    return 0;
  }
  File& file = files_[place];
  if (file.slot < 0) {
    Slot& taken = in_slot_[next_slot_ % slots_];
    if (taken.used == group_) {
      return ReadAim::kSubmitFirst;
    }
    Fd fd = open(file);
    if (!fd) {
      return -errno;
    }
    if (next_slot_ >= slots_) {
      files_[taken.file].slot = -1;
    }
    file.slot = static_cast<int>(next_slot_++ % slots_);
    taken.file = place;
    pending_.emplace_back(file.slot, std::move(fd));
  }
  in_slot_[static_cast<std::size_t>(file.slot)].used = group_;
  return file.slot;
}

Result<> TargetFiles::flush(Engine& engine) {
  ++group_;
  for (auto& [slot, fd] : pending_) {
    BLKSWEEP_CHECK(engine.set_files(slot, {&fd, 1}));
  }
  pending_.clear();
  return {};
}

}  // namespace blksweep
