#include "os/mount/mounts_around.h"

#include <filesystem>

namespace blksweep {
namespace {

namespace fs = std::filesystem;

std::string without_dots(const std::string& path) {
  std::error_code ec;
  std::string plain = fs::absolute(path, ec).lexically_normal().string();
  while (plain.size() > 1 && plain.ends_with('/')) {
    plain.pop_back();
  }
  return plain;
}

}  // namespace

Result<std::vector<MountFacts>> mounts_around(const std::string& path,
                                              const std::string& mountinfo) {
  BLKSWEEP_TRY(std::vector<MountFacts> all, read_mounts(mountinfo));
  const std::string here = without_dots(path);
  std::erase_if(all, [&](const MountFacts& m) {
    return !is_under(here, m.mount_point) && !is_under(m.mount_point, here);
  });
  return all;
}

}  // namespace blksweep
