#include "store/database_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "os/file/trust.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

Result<std::string> real_path(const std::string& path) {
  const fs::path asked(path);
  if (!asked.has_filename()) {
    return fail(path + ": is a folder: name a file in it");
  }
  std::error_code error;
  const fs::path folder =
      fs::canonical(asked.has_parent_path() ? asked.parent_path() : fs::path("."), error);
  if (error) {
    return fail(
        fmt::format("{}: {}: check the directory or name another file", path, error.message()));
  }
  return (folder / asked.filename()).string();
}

Result<> refuse_stranger(const std::string& path, uid_t owner) {
  return fail(
      fmt::format("{} belongs to {}: root neither writes to it nor plays it back: copy it "
                  "into a folder of your own, or call blksweep as its owner",
                  path, owner_name(owner)));
}

Result<> look_at_file(const std::string& path, const struct stat& st) {
  if (S_ISLNK(st.st_mode)) {
    return fail(path + " is a symbolic link: name the database itself");
  }
  if (!S_ISREG(st.st_mode)) {
    return fail(path + " is not a regular file: name a database file");
  }
  return {};
}

}  // namespace

Result<DatabaseFile> DatabaseFile::look(const std::string& path, bool to_write) {
  DatabaseFile file;
  BLKSWEEP_TRY(file.real_, real_path(path));
  // Readers, too: who can put files there gives the database a journal, or another file its name.
  const fs::path asked = fs::path(path).parent_path();
  BLKSWEEP_CHECK(check_way_to(asked.empty() ? "." : asked.string(), Sticky::refused));
  for (const std::string_view suffix : {"", "-journal", "-wal", "-shm"}) {
    const std::string name = file.real_ + std::string(suffix);
    struct stat st {};
    if (::lstat(name.c_str(), &st) != 0) {
      if (errno != ENOENT) {
        return sys_error(errno, "look at " + name);
      }
      continue;
    }
    BLKSWEEP_CHECK(look_at_file(name, st));
    const bool stranger = !trusted_owner(st.st_uid);
    if (stranger && is_real_root()) {
      BLKSWEEP_CHECK(refuse_stranger(name, st.st_uid));
    }
    if (stranger && !to_write && !suffix.empty() && st.st_size > 0) {
      return fail(
          fmt::format("{}: {} is writing to it, or was cut off ({} is there): read it when "
                      "that has ended, or ask for a copy",
                      path, owner_name(st.st_uid), name));
    }
    file.trusted_ = file.trusted_ && !stranger;
  }
  return file;
}

std::string DatabaseFile::uri(const std::string& options) const {
  std::string out = "file:";
  for (const char c : real_) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/._-", c) != nullptr;
    out += plain ? std::string(1, c)
                 : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return options.empty() ? out : out + "?" + options;
}

}  // namespace blksweep
