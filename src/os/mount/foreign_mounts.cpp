#include "os/mount/foreign_mounts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "os/mount/mounts_around.h"

namespace blksweep {
namespace {

bool has_option(std::string_view options, std::string_view wanted) {
  for (std::size_t at = options.find(wanted); at != std::string_view::npos;
       at = options.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    const bool begins = at == 0 || options[at - 1] == ',' || options[at - 1] == ';';
    if (begins && (end == options.size() || options[end] == ',' || options[end] == ';')) {
      return true;
    }
  }
  return false;
}

bool is_foreign(const MountFacts& m) {
  return m.filesystem.starts_with("fuse") && has_option(m.options, "allow_other") &&
         !has_option(m.options, fmt::format("user_id={}", ::geteuid())) &&
         !has_option(m.options, "user_id=0");
}

}  // namespace

Result<> refuse_foreign_mounts(const std::string& path, const std::string& mountinfo) {
  for (const MountFacts& m : mounts_around(path, mountinfo).value_or(std::vector<MountFacts>())) {
    if (is_foreign(m)) {
      return fail(
          fmt::format("{}: another user's FUSE filesystem is mounted on {}, and decides whether "
                      "reads of it ever "
                      "end: unmount it, or name a folder without it",
                      path, m.mount_point));
    }
  }
  return {};
}

}  // namespace blksweep
