#include "os/file/kept_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace blksweep {
namespace {

namespace fs = std::filesystem;

// Nothing is there, or nothing below it.
bool is_gone(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
}

Result<fs::path> canonical_path(const std::string& name) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(name, error);
  return error && !is_gone(error) ? Result<fs::path>(sys_error(error.value(), "look at " + name))
                                  : std::move(path);
}

// Of two that may not be there yet.
Result<bool> is_the_same_file(const std::string& one, const std::string& other) {
  std::error_code error;
  const bool same = fs::equivalent(one, other, error);
  if (error && !is_gone(error)) {
    return sys_error(error.value(), "look at " + one + " and " + other);
  }
  if (same || fs::path(one).filename() != fs::path(other).filename()) {
    return same;
  }
  BLKSWEEP_TRY(const fs::path path, canonical_path(one));
  BLKSWEEP_TRY(const fs::path other_path, canonical_path(other));
  return path == other_path;
}

// `folder` empty: no.
Result<bool> lies_below(const std::string& file, const std::string& folder) {
  if (folder.empty()) {
    return false;
  }
  BLKSWEEP_TRY(const fs::path inner, canonical_path(file));
  BLKSWEEP_TRY(const fs::path outer, canonical_path(folder));
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace

Result<> check_kept(std::string_view option, const std::string& output, const KeptFiles& inputs) {
  if (output.empty()) {
    return {};
  }
  for (const std::string& input : inputs.files) {
    BLKSWEEP_TRY(const bool same, input.empty() ? false : is_the_same_file(output, input));
    if (same) {
      return usage_error(
          fmt::format("{} {}: would take the place of {}, which this command reads: name another "
                      "file",
                      option, output, input));
    }
  }
  std::error_code none;
  BLKSWEEP_TRY(const bool among_files, lies_below(output, inputs.folder));
  if (among_files && fs::exists(output, none)) {
    return usage_error(fmt::format(
        "{} {}: would take the place of a file in {}, which this command reads: name another",
        option, output, inputs.folder));
  }
  BLKSWEEP_TRY(const bool among_samples, lies_below(output, inputs.data_set));
  if (among_samples) {
    return usage_error(
        fmt::format("{} {}: lies in {}, whose files are samples: name one outside it", option,
                    output, inputs.data_set));
  }
  return {};
}

}  // namespace blksweep
