#include "cli/report/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>

#include "os/file/file.h"
#include "os/file/open_regular.h"
#include "os/file/trust.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestFile = std::size_t{1} << 30;
constexpr std::string_view kLeftOut = ".none";

Result<Fd> open_folder(int parent, const std::string& name, const std::string& path, int flags) {
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  if (!fd) {
    return sys_error(errno, "open the folder " + path);
  }
  return fd;
}

// `figures` below the report: of ours, or made now.
Result<Fd> folder_below(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) {
    return sys_error(errno, "make the folder " + path);
  }
  if (auto fd = open_folder(parent, name, path, O_NOFOLLOW);
      fd || fd.error().sys_errno != ENOTDIR) {
    return fd;
  }
  return fail(path + " is a link or a file, not a folder: look who made it, or name another -o");
}

void remove_left_out(int folder, const std::string& stem) {
  for (const char* ending :
       {".svg", ".pdf", ".png", ".txt", ".pgf", ".tex", ".csv", ".sql", ".toml"}) {
    ::unlinkat(folder, (stem + ending).c_str(), 0);
  }
}

// Whoever may read it, may run it.
Result<> let_run(int folder, const std::string& name, const std::string& path) {
  struct stat now = {};
  if (::fstatat(folder, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::fchmodat(folder, name.c_str(), (now.st_mode | (now.st_mode & 0444) >> 2) & 0777, 0) != 0) {
    return sys_error(errno, "make a program of " + path);
  }
  return {};
}

Result<> put(const fs::path& from, int folder, const std::string& name, const std::string& path) {
  BLKSWEEP_TRY(const std::string bytes, read_regular(from, kLongestFile));
  BLKSWEEP_TRY(ReplacedFile file, ReplacedFile::begin_in(folder, name, path));
  BLKSWEEP_CHECK(file.write(std::as_bytes(std::span(bytes))));
  BLKSWEEP_CHECK(file.commit());
  return ::access(from.c_str(), X_OK) == 0 ? let_run(folder, name, path) : Result<>();
}

Result<> put_all(const fs::path& from, int folder, const std::string& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    const std::string name = entry.path().filename();
    const std::string target = path + "/" + name;
    std::error_code ignored;
    if (entry.is_directory(ignored)) {
      BLKSWEEP_TRY(const Fd below, folder_below(folder, name, target));
      BLKSWEEP_CHECK(put_all(entry.path(), below.get(), target));
    } else if (name.ends_with(kLeftOut)) {
      remove_left_out(folder, name.substr(0, name.size() - kLeftOut.size()));
    } else {
      BLKSWEEP_CHECK(put(entry.path(), folder, name, target));
    }
  }
  return error ? Result<>(sys_error(error.value(), "read " + from.string())) : Result<>();
}

}  // namespace

Result<ReportFolder> ReportFolder::begin(const std::string& folder) {
  BLKSWEEP_CHECK(make_folder_of_own(folder));
  BLKSWEEP_TRY(Fd fd, open_folder(AT_FDCWD, folder, folder, 0));
  // In a folder of a stranger, who could exchange it, it would not be private.
  const bool private_there = check_trusted_folder(folder).has_value();
  BLKSWEEP_TRY(PrivateFolder working, PrivateFolder::make("report", private_there ? folder : ""));
  return ReportFolder(folder, std::move(fd), std::move(working));
}

Result<> ReportFolder::write(const std::string& name, const std::string& text) const {
  return write_file(working() + "/" + name, text);
}

Result<> ReportFolder::freeze(ResultReader reader) {
  BLKSWEEP_TRY(beside_, PrivateFolder::make("frozen", fs::path(working()).parent_path()));
  return reader.copy_to(database());
}

Result<> ReportFolder::publish() const { return put_all(working(), fd_.get(), folder_); }

}  // namespace blksweep
