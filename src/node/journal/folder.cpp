#include "node/journal/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <span>

#include "os/block/holders.h"
#include "os/file/denied.h"
#include "os/file/file.h"
#include "os/file/folder_entries.h"
#include "os/file/own_folder.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLockPatience{10};
constexpr std::size_t kMaxJournal = std::size_t{64} << 20;

std::string folder_below(const std::string& run_folder) { return run_folder + "/blksweep/journal"; }

Result<Fd> lock_or_name_holder(const std::string& path) {
  BLKSWEEP_TRY(std::optional<Fd> folder, lock_folder(path, kLockPatience));
  if (!folder) {
    return fail(fmt::format("{} has been locked for ten seconds by {}: let it go on or end it",
                            path, to_text(holders_of({path}))));
  }
  return *std::move(folder);
}

Result<> make_folders(const std::string& run_folder) {
  if (::access(run_folder.c_str(), W_OK) != 0) {
    const int error = errno;
    if (error != EACCES && error != EROFS && error != EPERM) {
      return sys_error(error, "look at " + run_folder);
    }
    return unsupported(
        fmt::format("{} may not be written to, where settings of the node are noted: {}",
                    run_folder, denied_words(error, "changing settings of the node needs root")));
  }
  return own_folders(run_folder, {"blksweep", "journal"});
}

Result<std::string> own_text(const std::string& path) {
  BLKSWEEP_TRY(const Fd fd, open_own_file(path));
  BLKSWEEP_TRY(const std::uint64_t size, file_size(fd.get(), path));
  if (size > kMaxJournal) {
    return fail(fmt::format(
        "journal {} has {} bytes, more than this program writes: `blksweep node restore --discard` "
        "removes it unread",
        path, size));
  }
  return read_text(fd.get(), size, path);
}

// Without it (no descriptor left) a journal of this boot would pass for one of another.
Result<std::string> this_boot() {
  std::string id = boot_id();
  if (id.empty()) {
    return fail(
        "journal: the boot's id (/proc/sys/kernel/random/boot_id) cannot be read: nothing is "
        "changed");
  }
  return id;
}

Result<Journal> read_journal(const std::string& path) {
  BLKSWEEP_TRY(const std::string boot, this_boot());
  BLKSWEEP_TRY(const std::string text, own_text(path));
  return parse_journal(path, text, boot);
}

// One that goes away while we look is none.
Result<std::vector<FoundJournal>> read_journals(const std::string& folder) {
  std::vector<FoundJournal> all;
  BLKSWEEP_TRY(const std::vector<std::string> paths, paths_in(folder));
  for (const std::string& path : paths) {
    Result<Journal> journal = read_journal(path);
    if (journal || journal.error().sys_errno != ENOENT) {
      all.push_back({path, std::move(journal)});
    }
  }
  return all;
}

Result<> write_at_end(const Fd& fd, std::size_t end, const std::string& text,
                      const std::string& path) {
  if (::ftruncate(fd.get(), static_cast<off_t>(end)) != 0) {
    return sys_error(errno, "cut " + path);
  }
  if (::lseek(fd.get(), 0, SEEK_END) < 0) {
    return sys_error(errno, "seek in " + path);
  }
  return write_full(fd.get(), std::as_bytes(std::span(text)), path);
}

}  // namespace

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

Result<JournalFolder> JournalFolder::lock(const std::string& run_folder) {
  BLKSWEEP_CHECK(make_folders(run_folder));
  const std::string path = folder_below(run_folder);
  BLKSWEEP_TRY(Fd folder, lock_or_name_holder(path));
  return JournalFolder(path, std::move(folder));
}

Result<Fd> lock_changes(const std::string& run_folder) {
  BLKSWEEP_CHECK(make_folders(run_folder));
  return lock_or_name_holder(run_folder + "/blksweep");
}

Result<std::vector<FoundJournal>> JournalFolder::read_all() const { return read_journals(path_); }

Result<Journal> JournalFolder::read(const JournalOwner& owner) const {
  Result<Journal> journal = read_journal(path_ + "/" + journal_name(owner));
  if (!journal && journal.error().sys_errno == ENOENT) {
    return Journal{.name = journal_name(owner), .owner = owner, .records = {}};
  }
  if (journal && journal->valid_bytes == 0) {
    journal->owner = owner;  // its first line was never whole
  }
  return journal;
}

Result<> JournalFolder::append(Journal& journal, const std::string& line, bool durable) const {
  const std::string path = path_ + "/" + journal.name;
  const bool is_new = journal.valid_bytes == 0;
  BLKSWEEP_TRY(const std::string boot, this_boot());
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  const std::string text = (is_new ? header_line(journal.owner, boot) : "") + line;
  if (auto written = write_at_end(fd, journal.valid_bytes, text, path); !written) {
    [[maybe_unused]] const int cut =
        ::ftruncate(fd.get(), static_cast<off_t>(journal.valid_bytes));  // torn lines are none
    return written;
  }
  if (durable && (::fsync(fd.get()) != 0 || (is_new && ::fsync(fd_.get()) != 0))) {
    return sys_error(errno, "fsync " + path);
  }
  journal.valid_bytes += text.size();
  return {};
}

Result<> JournalFolder::remove(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  std::error_code ec;
  if (!fs::remove(path, ec) && ec) {
    return sys_error(ec.value(), "remove " + path);
  }
  return {};
}

Result<std::vector<FoundJournal>> look_at_journals(const std::string& run_folder) {
  const std::string path = folder_below(run_folder);
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) {
      return std::vector<FoundJournal>();
    }
    return sys_error(errno, "look at " + path);
  }
  if (::access(path.c_str(), R_OK) != 0) {
    return unsupported("what is borrowed needs root to be seen: " + path);
  }
  BLKSWEEP_CHECK(own_folders(run_folder, {"blksweep", "journal"}));
  return read_journals(path);
}

}  // namespace blksweep
