#include "os/kept_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// Of two that may not be there yet.
bool is_the_same_file(const std::string& one, const std::string& other) {
  std::error_code none;
  return fs::equivalent(one, other, none) ||
         (fs::path(one).filename() == fs::path(other).filename() &&
          fs::weakly_canonical(one, none) == fs::weakly_canonical(other, none));
}

bool lies_below(const std::string& file, const std::string& folder) {
  std::error_code none;
  const fs::path inner = fs::weakly_canonical(file, none);
  const fs::path outer = fs::canonical(folder, none);
  return !outer.empty() && std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace

Result<> check_kept(std::string_view option, const std::string& output, const KeptFiles& inputs) {
  if (output.empty()) {
    return {};
  }
  for (const std::string& input : inputs.files) {
    if (!input.empty() && is_the_same_file(output, input)) {
      return usage_error(
          fmt::format("{} {}: would take the place of {}, which this command reads: name another "
                      "file",
                      option, output, input));
    }
  }
  std::error_code none;
  if (!inputs.folder.empty() && fs::exists(output, none) && lies_below(output, inputs.folder)) {
    return usage_error(fmt::format(
        "{} {}: would take the place of a file in {}, which this command reads: name another",
        option, output, inputs.folder));
  }
  if (!inputs.data_set.empty() && lies_below(output, inputs.data_set)) {
    return usage_error(
        fmt::format("{} {}: lies in {}, whose files are samples: name one outside it", option,
                    output, inputs.data_set));
  }
  return {};
}

}  // namespace blksweep
