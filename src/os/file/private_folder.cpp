#include "os/file/private_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/log.h"

namespace blksweep {

Result<PrivateFolder> PrivateFolder::make(const std::string& purpose, const std::string& parent) {
  const char* temporary = ::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::string name = !parent.empty() ? parent : temporary != nullptr ? temporary : "/tmp";
  name += "/blksweep-" + purpose + "-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return sys_error(errno, "make directory " + name);
  }
  PrivateFolder made;
  made.path_ = name;
  std::error_code error;
  if (const auto real = std::filesystem::canonical(name, error); !error) {
    made.path_ = real.string();
  }
  return made;
}

PrivateFolder::~PrivateFolder() {
  if (!path_.empty()) {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) {
      warn(path_ + " could not be removed: " + error.message() + "; nothing in it is needed");
    }
  }
}

}  // namespace blksweep
