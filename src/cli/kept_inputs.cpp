#include "cli/kept_inputs.h"

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

// Of files that are there.
bool lies_below(const std::string& file, const std::string& folder) {
  std::error_code none;
  const fs::path inner = fs::canonical(file, none);
  const fs::path outer = fs::canonical(folder, none);
  return !inner.empty() && !outer.empty() && inner != outer &&
         std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace

Result<> check_kept(std::string_view option, const std::string& output, const KeptInputs& inputs) {
  for (const std::string& input : inputs.files) {
    if (!input.empty() && is_the_same_file(output, input)) {
      return usage_error(
          fmt::format("{} {}: would take the place of {}, which this command reads: name another "
                      "file",
                      option, output, input));
    }
  }
  if (!inputs.data.empty() && lies_below(output, inputs.data)) {
    return usage_error(
        fmt::format("{} {}: would take the place of a file in {}, which this command reads: name "
                    "one outside it",
                    option, output, inputs.data));
  }
  return {};
}

}  // namespace blksweep
