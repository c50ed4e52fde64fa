#include "node/setting.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <sstream>

#include "base/marked_word.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = 65536;  // sysfs gives a page at most, a cgroup's lists more

bool has_dots(const fs::path& path) {
  return std::ranges::any_of(path, [](const fs::path& part) { return part == ".."; });
}

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

Result<Fd> open_setting(const std::string& path, int flags) {
  Fd fd(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) {
    return sys_error(errno, "look at " + path);
  }
  if (!S_ISREG(st.st_mode)) {
    return fail(path + " is no setting: not a regular file");
  }
  return fd;
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    const bool marked = word.size() > 2 && word.front() == '[' && word.back() == ']';
    words.push_back(marked ? word.substr(1, word.size() - 2) : word);
  }
  return words;
}

Result<std::string> read_setting(const std::string& path) {
  BLKSWEEP_TRY(const Fd fd, open_setting(path, O_RDONLY));
  std::string text(kMaxText, '\0');
  BLKSWEEP_TRY(const std::size_t got,
               pread_full(fd.get(), std::as_writable_bytes(std::span(text)), 0, path));
  text.resize(got);
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  if (path.ends_with("/queue/scheduler") && !marked_word(text).empty()) {
    return marked_word(text);
  }
  return text;
}

Result<> write_setting(const std::string& path, const std::string& text) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) {
    return sys_error(errno, "look at " + path);
  }
  if (!S_ISREG(st.st_mode)) {  // before it is opened: to open a device may already do something
    return fail(path + " is no setting: not a regular file");
  }
  BLKSWEEP_TRY(const Fd fd, open_setting(path, O_WRONLY | O_TRUNC));
  const std::string line = text + "\n";
  // In one piece: the kernel takes each write as a whole value.
  if (::write(fd.get(), line.data(), line.size()) < 0) {
    return sys_error(errno, fmt::format("write '{}' into {}", text, path));
  }
  return {};
}

Result<bool> is_really_below(const std::string& path, const std::vector<std::string>& folders) {
  const auto below_one = [&folders](const std::string& p) {
    return std::ranges::any_of(folders, [&p](const std::string& f) { return is_below(p, f); });
  };
  if (has_dots(path) || !below_one(path)) {
    return false;
  }
  std::error_code ec;
  const fs::path real = fs::weakly_canonical(path, ec);
  if (ec) {
    return sys_error(ec.value(), "resolve " + path);
  }
  return below_one(real.string());
}

}  // namespace blksweep
