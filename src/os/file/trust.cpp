#include "os/file/trust.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// Nobody, when it is not there or no number.
uid_t sudo_user() {
  const char* text = std::getenv("SUDO_UID");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  uid_t uid = 0;
  const std::string_view digits = text != nullptr ? text : "";
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), uid);
  return error == std::errc{} && end == digits.data() + digits.size() ? uid : 0;
}

constexpr const char* kWayOut = "root writes only where nobody else can: name a folder of your own";

// With an access list the group's bits are the most that anybody named in it has.
bool others_write(const std::string& path, const struct stat& st) {
  const bool group = (st.st_mode & S_IWGRP) != 0;
  return (st.st_mode & S_IWOTH) != 0 || (group && st.st_gid != 0) ||
         (group && ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0);
}

Result<> check_owner(const std::string& path, const struct stat& st) {
  if (!trusted_owner(st.st_uid)) {
    return fail(
        fmt::format("{} belongs to {}, who can plant files in it: {} (SUDO_UID={} trusts its "
                    "owner)",
                    path, owner_name(st.st_uid), kWayOut, st.st_uid));
  }
  if ((st.st_mode & S_ISVTX) == 0 && others_write(path, st)) {
    return fail(
        fmt::format("{} may be written to by others, who can plant files in it: {}, or chmod "
                    "go-w",
                    path, kWayOut));
  }
  return {};
}

// Where others may put names, what is missing now can be a link of theirs when it is opened.
Result<> check_missing(const fs::path& missing, bool others_make) {
  return others_make ? Result<>(fail(fmt::format(
                           "{} is not there, and everybody may make it: make it first, or name a "
                           "folder of your own",
                           missing.string())))
                     : Result<>();
}

// Every folder and link from the root on, as far as they are there.
Result<> check_each(const fs::path& path) {
  fs::path way;
  bool others_make = false;
  for (const fs::path& part : path) {
    way /= part;
    struct stat st {};
    if (::lstat(way.c_str(), &st) != 0) {
      return errno == ENOENT || errno == ENOTDIR ? check_missing(way, others_make)
                                                 : sys_error(errno, "look at " + way.string());
    }
    others_make = S_ISDIR(st.st_mode) && others_write(way.string(), st);
    if (S_ISLNK(st.st_mode) && !trusted_owner(st.st_uid)) {
      return fail(fmt::format("{} is a symbolic link of {}: {}", way.string(),
                              owner_name(st.st_uid), kWayOut));
    }
    if (S_ISDIR(st.st_mode)) {
      BLKSWEEP_CHECK(check_owner(way.string(), st));
    }
  }
  return {};
}

}  // namespace

bool is_real_root() {
  std::istringstream map(first_line("/proc/self/uid_map"));
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  const bool known = static_cast<bool>(map >> inside >> outside >> count);
  const bool whole = inside == 0 && outside == 0 && count == 0xFFFF'FFFF;
  return ::geteuid() == 0 && (!known || whole);
}

bool trusted_owner(uid_t owner) {
  return owner == 0 || owner == ::geteuid() || (::geteuid() == 0 && owner == sudo_user());
}

std::string owner_name(uid_t owner) {
  std::array<char, 4096> memory{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(owner, &entry, memory.data(), memory.size(), &found);
  return found != nullptr ? found->pw_name : fmt::format("uid {}", owner);
}

Result<> check_trusted_folder(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return sys_error(errno, "look at " + path);
  }
  return check_owner(path, st);
}

Result<> check_trusted_file(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    return sys_error(errno, "look at " + path);
  }
  if (!trusted_owner(st.st_uid) || (!S_ISDIR(st.st_mode) && others_write(path, st))) {
    return fail(fmt::format("{} can be written to by {}: make it root's alone (chown, chmod go-w)",
                            path, trusted_owner(st.st_uid) ? "others" : owner_name(st.st_uid)));
  }
  return {};
}

Result<> check_way_to(const std::string& folder, Sticky last) {
  if (!is_real_root()) {
    return {};
  }
  std::error_code error;
  const fs::path asked = fs::absolute(folder.empty() ? "." : folder, error);
  BLKSWEEP_CHECK(check_each(asked));
  const fs::path real = fs::weakly_canonical(asked, error);
  BLKSWEEP_CHECK(check_each(real));
  struct stat st {};
  if (last == Sticky::refused && ::stat(real.c_str(), &st) == 0 && (st.st_mode & S_IWOTH) != 0) {
    return fail(
        fmt::format("everybody may put files into {}, beside what root writes there: name a "
                    "folder of your own",
                    real.string()));
  }
  return error ? Result<>(sys_error(error.value(), "look at " + folder)) : Result<>();
}

Result<> make_folder_of_own(const std::string& folder) {
  fs::path way;
  for (const fs::path& part : fs::path(folder)) {
    way /= part;
    std::error_code error;
    if (!fs::is_directory(way, error) && ::mkdir(way.c_str(), 0777) != 0 && errno != EEXIST) {
      return fail(fmt::format("make directory {}: {}: name another folder", way.string(),
                              std::strerror(errno)));
    }
    BLKSWEEP_CHECK(check_way_to(way.string()));  // before anything is made below it
  }
  return {};
}

}  // namespace blksweep
