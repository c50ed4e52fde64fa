#include "os/memory/reclaim.h"

#include <fmt/format.h>

#include <filesystem>

#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// Whether a scheme of any context of it pages out.
bool pages_out(const fs::path& kdamond) {
  std::error_code ignored;
  for (const auto& context : fs::directory_iterator(kdamond / "contexts", ignored)) {
    for (const auto& scheme : fs::directory_iterator(context.path() / "schemes", ignored)) {
      if (first_line(scheme.path() / "action") == "pageout") {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> early_reclaimers(const std::string& sys) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& kdamond :
       fs::directory_iterator(sys + "/kernel/mm/damon/admin/kdamonds", ignored)) {
    if (first_line(kdamond.path() / "state") == "on" && pages_out(kdamond.path())) {
      found.push_back(
          fmt::format("DAMON (kdamond {}: pageout)", kdamond.path().filename().string()));
    }
  }
  if (first_line(sys + "/module/damon_reclaim/parameters/enabled") == "Y") {
    found.emplace_back("DAMON_RECLAIM");
  }
  return found;
}

}  // namespace blksweep
