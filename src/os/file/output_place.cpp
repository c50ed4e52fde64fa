#include "os/file/output_place.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/fd.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"

namespace blksweep {
namespace {

// None: nothing is there.
Result<std::optional<std::string>> first_bytes(const std::string& path, std::size_t most) {
  const Fd fd(open_kind_at(AT_FDCWD, path.c_str(), 0, S_IFREG));
  if (!fd) {
    return errno == ENOENT   ? Result<std::optional<std::string>>(std::nullopt)
           : errno == ESTALE ? fail(path + " is there and is no regular file: name another one")
                             : sys_error(errno, "look at " + path);
  }
  std::string bytes(most, '\0');
  BLKSWEEP_TRY(const std::size_t got,
               pread_full(fd.get(), std::as_writable_bytes(std::span(bytes)), 0, path));
  bytes.resize(got);
  return std::optional(std::move(bytes));
}

std::size_t longest(const std::vector<std::string>& texts) {
  std::size_t most = 1;
  for (const std::string& t : texts) {
    most = std::max(most, t.size());
  }
  return most;
}

}  // namespace

Result<> check_output_place(const std::string& path, const OutputKind& kind) {
  BLKSWEEP_TRY(const std::optional<std::string> there, first_bytes(path, longest(kind.beginnings)));
  const auto begins = [&](const std::string& mark) { return there->starts_with(mark); };
  if (there && !there->empty() && std::ranges::none_of(kind.beginnings, begins)) {
    return usage_error(fmt::format("{} is no {}: name a new file", path, kind.name));
  }
  BLKSWEEP_TRY([[maybe_unused]] const ReplacedFile can_be_made, ReplacedFile::begin(path));
  return {};
}

}  // namespace blksweep
