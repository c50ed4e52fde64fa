#include "dataset/age.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

constexpr double kFilled = 97;  // percent; the last blocks cost a search each
constexpr std::uint64_t kOfFolder = 512;
constexpr std::uint64_t kBetweenLooks = 64;  // files
constexpr std::uint64_t kAgeStream = std::uint64_t{0x6167} << 32;

Result<double> used_percent(const std::string& mount) {
  struct statvfs now {};
  if (::statvfs(mount.c_str(), &now) != 0) {
    return sys_error(errno, "statvfs " + mount);
  }
  const auto all = static_cast<double>(now.f_blocks);
  const auto free = static_cast<double>(now.f_bfree);
  return all > 0 ? (all - free) / all * 100 : 100;
}

Result<> check_stop() {
  return stop_requested() ? Result<>(fail("interrupted", Exit::interrupted)) : Result<>();
}

class OldFiles {
 public:
  OldFiles(const std::string& mount, const Aging& aging)
      : mount_(mount), aging_(aging), rng_(aging.seed, kAgeStream) {}

  // Until it is full, or has no inode left.
  Result<> fill() {
    for (std::uint64_t n = 0; !full_; ++n) {
      if (n % kBetweenLooks == 0) {
        BLKSWEEP_CHECK(check_stop());
        BLKSWEEP_TRY(const double used, used_percent(mount_));
        full_ = used >= kFilled;
      }
      if (n % kOfFolder == 0) {
        BLKSWEEP_CHECK(next_folder(n / kOfFolder));
      }
      BLKSWEEP_CHECK(allocate(fmt::format("{}/{}", folder_, n)));
    }
    return {};
  }

  Result<> thin_out() {
    shuffle(std::span(files_), rng_);
    for (std::size_t n = 0; n < files_.size(); ++n) {
      if (n % kBetweenLooks == 0) {
        BLKSWEEP_CHECK(check_stop());
        BLKSWEEP_TRY(const double used, used_percent(mount_));
        if (used <= aging_.used) {
          return {};
        }
      }
      if (::unlink(files_[n].c_str()) != 0) {
        return sys_error(errno, "remove " + files_[n]);
      }
    }
    return {};
  }

 private:
  Result<> next_folder(std::uint64_t number) {
    folder_ = fmt::format("{}/{}/{}", mount_, kAgedFolder, number);
    std::error_code ec;
    std::filesystem::create_directories(folder_, ec);
    full_ = full_ || ec == std::errc::no_space_on_device;
    return !ec || full_ ? Result<>() : Result<>(sys_error(ec.value(), "make " + folder_));
  }

  Result<> allocate(const std::string& path) {
    if (full_) {
      return {};
    }
    const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const auto bytes = static_cast<off_t>(align_up(aging_.size.draw(rng_), kPageBytes));
    if (fd && ::fallocate(fd.get(), 0, 0, bytes) == 0) {
      files_.push_back(path);
      return {};
    }
    const int why = errno;
    full_ = why == ENOSPC;
    if (fd) {
      ::unlink(path.c_str());
    }
    return full_ ? Result<>() : Result<>(sys_error(why, "allocate " + path));
  }

  const std::string& mount_;
  const Aging& aging_;
  Rng rng_;
  std::string folder_;
  std::vector<std::string> files_;
  bool full_ = false;
};

}  // namespace

Result<> age_filesystem(const std::string& mount, const Aging& aging) {
  BLKSWEEP_TRY(const double before, used_percent(mount));
  if (before >= aging.used) {
    return usage_error(fmt::format("{} is {:.0f} % full already: {:g} % cannot be reached", mount,
                                   before, aging.used));
  }
  OldFiles files(mount, aging);
  BLKSWEEP_CHECK(files.fill());
  BLKSWEEP_CHECK(files.thin_out());
  const Fd root(::open(mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root || ::syncfs(root.get()) != 0) {
    return sys_error(errno, "sync " + mount);
  }
  return {};
}

}  // namespace blksweep
