#include "cli/scripts.h"

#include <cstdlib>

namespace blksweep {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value != nullptr ? value : "";
}

std::vector<fs::path> script_folders() {
  if (const std::string named = environment("BLKSWEEP_SCRIPTS"); !named.empty()) {
    return {named};
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path above = program.parent_path().parent_path();
  return {above / "scripts", above / "share/blksweep/scripts"};
}

}  // namespace blksweep
