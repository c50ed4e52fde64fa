#include "os/private_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace blksweep {

Result<PrivateFolder> PrivateFolder::make(const std::string& purpose, const std::string& parent) {
  const char* temporary = ::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::string name = !parent.empty() ? parent : temporary != nullptr ? temporary : "/tmp";
  name += "/blksweep-" + purpose + "-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return sys_error(errno, "make directory " + name);
  }
  std::error_code ignored;
  PrivateFolder made;
  made.path_ = std::filesystem::canonical(name, ignored).string();
  return made;
}

PrivateFolder::~PrivateFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace blksweep
