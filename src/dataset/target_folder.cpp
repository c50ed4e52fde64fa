#include "dataset/target_folder.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "os/file/file.h"

namespace blksweep {

namespace fs = std::filesystem;

Result<> refuse_content(const std::string& folder, const std::string& doing) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    if (entry.path().filename() != "lost+found") {
      return fail(doing + ": " + folder + " is not empty: name an empty or new directory");
    }
  }
  return ec ? Result<>(sys_error(ec.value(), "read directory " + folder)) : Result<>();
}

Result<> sync_filesystem(const std::string& folder) {
  BLKSWEEP_TRY(const Fd fd, open_readonly(folder));
  return ::syncfs(fd.get()) == 0 ? Result<>() : Result<>(sys_error(errno, "syncfs " + folder));
}

}  // namespace blksweep
