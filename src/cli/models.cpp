#include "cli/models.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace blksweep {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> model_folders() {
  const char* named = std::getenv("BLKSWEEP_SCRIPTS");  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr && *named != '\0') {
    return {(fs::path(named) / "models").string()};
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path above = program.parent_path().parent_path();
  return {(above / "scripts/models").string(), (above / "share/blksweep/scripts/models").string()};
}

}  // namespace

Result<ModelSpec> load_named_model(const std::string& name_or_path) {
  return load_model(name_or_path, model_folders());
}

}  // namespace blksweep
