#include "cli/scripts.h"

#include <sys/stat.h>

#include <cstdlib>

#include "os/file/trust.h"
#include "os/process/own_program.h"

namespace blksweep {

namespace fs = std::filesystem;

namespace {

bool of_who_made_the_program(const fs::path& path) {
  struct stat program {};
  struct stat st {};
  return ::stat(own_program().c_str(), &program) == 0 && ::lstat(path.c_str(), &st) == 0 &&
         program.st_uid == st.st_uid && !trusted_owner(st.st_uid);
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value != nullptr ? value : "";
}

std::vector<fs::path> script_folders() {
  if (const std::string named = environment("BLKSWEEP_SCRIPTS"); !named.empty()) {
    return {named};
  }
  const fs::path beside = own_program().parent_path();
  const fs::path above = beside.parent_path();
  return {beside / "scripts", above / "scripts", above / "share/blksweep/scripts"};
}

Result<> check_scripts(const fs::path& folder) {
  if (!is_real_root() || of_who_made_the_program(folder)) {
    return {};
  }
  BLKSWEEP_CHECK(check_way_to(folder.string(), Sticky::refused));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    BLKSWEEP_CHECK(check_trusted_file(entry.path().string()));
  }
  return {};
}

}  // namespace blksweep
