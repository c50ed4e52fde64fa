#include "os/file/folder_entries.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace blksweep {

namespace fs = std::filesystem;

Result<std::vector<std::string>> paths_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ec;
  // Not in a loop over the range, which throws where the kernel stops reading.
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::directory_iterator();
       it.increment(ec)) {
    paths.push_back(it->path().string());
  }
  if (ec) {
    return sys_error(ec.value(), "read the folder " + folder);
  }
  std::ranges::sort(paths);
  return paths;
}

Result<std::vector<std::string>> paths_in_any(const std::string& folder) {
  Result<std::vector<std::string>> paths = paths_in(folder);
  const bool none = !paths && paths.error().sys_errno == ENOENT;
  return none ? std::vector<std::string>() : std::move(paths);
}

}  // namespace blksweep
