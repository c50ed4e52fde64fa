#include "cli/scripts.h"

#include <cstdlib>

#include "os/own_program.h"

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
  const fs::path beside = own_program().parent_path();
  const fs::path above = beside.parent_path();
  return {beside / "scripts", above / "scripts", above / "share/blksweep/scripts"};
}

}  // namespace blksweep
