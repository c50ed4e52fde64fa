#include "rig/contents.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

}  // namespace

Result<std::string> contents_of(const std::string& folder) {
  std::vector<std::string> lines;
  std::uint64_t bytes = 0;
  std::error_code ec;
  for (auto at = fs::recursive_directory_iterator(folder, ec);
       !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    struct stat st {};
    if (::lstat(at->path().c_str(), &st) != 0) {
      return sys_error(errno, "look at " + at->path().string());
    }
    if (S_ISDIR(st.st_mode)) {
      continue;
    }
    bytes += static_cast<std::uint64_t>(st.st_size);
    lines.push_back(fmt::format("{}|{:o}|{}|{}|{}.{:09}\n",
                                at->path().native().substr(folder.size()), st.st_mode & S_IFMT,
                                st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec));
  }
  if (ec) {
    return sys_error(ec.value(), "list " + folder);
  }
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) {
    all += line;
  }
  return fmt::format("{} files of {} bytes, {:016x}\n", lines.size(), bytes,
                     XXH3_64bits(all.data(), all.size()));
}

Result<> keep_contents(const std::string& file, const std::string& folder) {
  BLKSWEEP_TRY(const std::string text, contents_of(folder));
  return write_file(file, text);
}

Result<> check_contents(const std::string& file, const std::string& folder,
                        const std::string& made_anew) {
  const std::string then = first_line(file);
  BLKSWEEP_TRY(std::string now, contents_of(folder));
  now.pop_back();
  if (now == then) {
    return {};
  }
  return fail(fmt::format(
      "{}: changed since the spec made it ({}; now {}): remove {}, and it is "
      "made anew",
      folder, then.empty() ? "what it held is not known" : printable(then), now, made_anew));
}

}  // namespace blksweep
