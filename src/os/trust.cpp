#include "os/trust.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "os/file.h"

namespace blksweep {
namespace {

// Nobody, when it is not there or no number.
uid_t sudo_user() {
  const char* text = std::getenv("SUDO_UID");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  uid_t uid = 0;
  const std::string_view digits = text != nullptr ? text : "";
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), uid);
  return error == std::errc{} && end == digits.data() + digits.size() ? uid : 0;
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
  if (!trusted_owner(st.st_uid)) {
    return fail(
        fmt::format("{} belongs to {}, who can plant files in it: root writes only in "
                    "folders of its own: name another one",
                    path, owner_name(st.st_uid)));
  }
  const bool others_write = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && st.st_gid != 0;
  const bool anybody_writes = (st.st_mode & S_IWOTH) != 0;
  if ((others_write || anybody_writes) && (st.st_mode & S_ISVTX) == 0) {
    return fail(
        fmt::format("{} may be written to by others, who can plant files in it: root "
                    "writes only in folders of its own: name another one, or chmod go-w",
                    path));
  }
  return {};
}

}  // namespace blksweep
