#include "node/queue.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/marked_word.h"
#include "base/text.h"
#include "node/setting.h"
#include "os/block/blockdev.h"
#include "os/file/file.h"
#include "os/file/folder_entries.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScheduler = "scheduler";
constexpr const char* kReadAhead = "read_ahead_kb";
constexpr const char* kRequests = "nr_requests";
constexpr std::string_view kTunables = "iosched/";
constexpr std::size_t kLongestName = 64;

// In the order in which they are written. A change of scheduler may reset all behind it;
// nr_requests resets iosched/async_depth; since Linux 6.9 every change of the queue's limits
// (max_sectors_kb, rotational, ...) sets read_ahead_kb anew (queue_limits_commit_update calling
// blk_apply_bdi_limits), so that it is last.
constexpr std::array kBeforeTunables = {"scheduler",   "max_sectors_kb", "rotational",
                                        "add_random",  "iostats",        "nomerges",
                                        "rq_affinity", "wbt_lat_usec",   "nr_requests"};

std::size_t rank_of(const std::string& name) {
  if (name == kReadAhead) {
    return kBeforeTunables.size() + 1;
  }
  const auto* at = std::ranges::find(kBeforeTunables, name);
  return static_cast<std::size_t>(at - kBeforeTunables.begin());
}

std::string key_of(const std::string& disk) { return disk + "/queue"; }

std::string queue_folder(const std::string& disk) { return "/sys/block/" + disk + "/queue/"; }

bool is_writable(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IWUSR) != 0;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
}

// A folder that is not there has none.
Result<std::vector<std::string>> writable_files(const std::string& folder) {
  std::vector<std::string> names;
  BLKSWEEP_TRY(const std::vector<std::string> paths, paths_in_any(folder));
  for (const std::string& path : paths) {
    if (is_writable(path)) {
      names.push_back(fs::path(path).filename().string());
    }
  }
  return names;
}

std::vector<std::string> names_of_writable(const std::string& folder) {
  return writable_files(folder).value_or(std::vector<std::string>());
}

std::string list_or_none(const std::vector<std::string>& words) {
  return words.empty() ? "none" : joined(words, ", ");
}

const std::string* asked_for(const QueueWish& wish, const std::string& name) {
  const auto at = std::ranges::find(wish, name, &QueueWish::value_type::first);
  return at == wish.end() ? nullptr : &at->second;
}

bool changes_scheduler(const std::string& disk, const QueueWish& wish) {
  const std::string* scheduler = asked_for(wish, kScheduler);
  return scheduler != nullptr && *scheduler != scheduler_of(disk);
}

Result<> check_wish(const std::string& disk, const QueueWish& wish) {
  const std::string folder = queue_folder(disk);
  std::error_code ec;
  if (!is_name(disk) && disk.find('!') == std::string::npos) {
    return usage_error(fmt::format("'{}' is no disk's name", disk));
  }
  if (!fs::is_directory(folder, ec)) {
    return unsupported(fmt::format("{} is not there: {} has no queue settings", folder, disk));
  }
  for (const auto& [name, value] : wish) {
    const bool tunable = name.starts_with(kTunables);
    if (!is_name(tunable ? std::string_view(name).substr(kTunables.size()) : name)) {
      return usage_error(fmt::format("'{}' is no queue setting's name", name));
    }
    // The new scheduler's tunables are there when it is.
    if (!(tunable && changes_scheduler(disk, wish)) && !is_writable(folder + name)) {
      return unsupported(
          fmt::format("{} has no queue setting '{}' that may be written; there are: {}", disk, name,
                      list_or_none(names_of_writable(tunable ? folder + "iosched" : folder))));
    }
    // A scheduler that is not listed may be a module that the kernel loads when it is asked for.
    if (name == kScheduler && !is_name(value)) {
      return fail(fmt::format("'{}' is no scheduler of {}, which has: {}", value, disk,
                              list_or_none(schedulers_of(disk))));
    }
  }
  return {};
}

// What the wish may change, asked for or in its wake.
Result<std::vector<std::string>> touched_by(const std::string& disk, const QueueWish& wish) {
  std::vector<std::string> names;
  for (const auto& [name, value] : wish) {
    names.push_back(name);
  }
  const bool scheduler = changes_scheduler(disk, wish);
  if (scheduler) {
    names.insert(names.end(), kBeforeTunables.begin(), kBeforeTunables.end());
  }
  if (scheduler || asked_for(wish, kRequests) != nullptr) {
    BLKSWEEP_TRY(const auto tunables, writable_files(queue_folder(disk) + "iosched"));
    for (const std::string& tunable : tunables) {
      names.push_back(std::string(kTunables) + tunable);
    }
  }
  names.emplace_back(kReadAhead);
  std::ranges::sort(names, {}, [](const std::string& n) { return std::pair(rank_of(n), n); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// nullopt: it is not there, may not be written or has no value (wbt_lat_usec of some devices), so
// that it cannot be changed either. Without what stood there before nothing could be put back, so
// that any other failure is an Error.
Result<std::optional<std::string>> value_before(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0 && errno != ENOENT) {
    return sys_error(errno, "look at " + path);
  }
  if (!S_ISREG(st.st_mode) || (st.st_mode & S_IWUSR) == 0) {
    return std::optional<std::string>();
  }
  Result<std::string> now = read_setting(path);
  if (!now && (now.error().sys_errno == EINVAL || now.error().sys_errno == EOPNOTSUPP ||
               now.error().sys_errno == ENOENT)) {
    return std::optional<std::string>();
  }
  return now ? Result<std::optional<std::string>>(*std::move(now)) : tl::unexpected(now.error());
}

// Without a scheduler nr_requests is how many of the disk's own tags are used. They stay that few,
// and no file tells, when a scheduler comes that has tags of its own (Linux 6.18, seen by requests
// in flight): so all are given back while there is none, before the scheduler is.
Result<> save_tags(const std::string& disk, const QueueWish& wish, Loan& loan) {
  if (!changes_scheduler(disk, wish) || *asked_for(wish, kScheduler) != "none" ||
      asked_for(wish, kRequests) == nullptr) {
    return {};
  }
  BLKSWEEP_TRY(const std::string tags, read_setting("/sys/block/" + disk + "/mq/0/nr_tags"));
  loan.values.push_back({queue_folder(disk) + kRequests, tags});
  return {};
}

Result<Loan> saved_queue(const std::string& disk, const QueueWish& wish) {
  Loan loan{.key = key_of(disk), .what = "the queue of " + disk};
  BLKSWEEP_CHECK(save_tags(disk, wish, loan));
  BLKSWEEP_TRY(const std::vector<std::string> touched, touched_by(disk, wish));
  for (const std::string& name : touched) {
    const std::string path = queue_folder(disk) + name;
    BLKSWEEP_TRY(const std::optional<std::string> now, value_before(path));
    if (now) {
      loan.values.push_back({path, *now});
    }
  }
  return loan;
}

// A path may stand twice: the last value is what was there.
std::string before_of(const Loan& loan, const std::string& path) {
  const auto at = std::find_if(loan.values.rbegin(), loan.values.rend(),
                               [&path](const SavedValue& v) { return v.path == path; });
  return at == loan.values.rend() ? "" : at->value;
}

tl::unexpected<Error> refused(const std::string& disk, const std::string& name,
                              const std::string& value, const Error& cause) {
  if (name == kScheduler) {
    return fail(fmt::format("'{}' is no scheduler of {}, which has: {} ({})", value, disk,
                            list_or_none(schedulers_of(disk)), cause.text));
  }
  if (name.starts_with(kTunables) && !is_writable(queue_folder(disk) + name)) {
    return fail(fmt::format("the scheduler {} has no tunable '{}', but: {}", scheduler_of(disk),
                            name.substr(kTunables.size()),
                            list_or_none(names_of_writable(queue_folder(disk) + "iosched"))));
  }
  return tl::unexpected(cause);
}

Result<> write_wish(const std::string& disk, const QueueWish& sorted, const Loan& saved) {
  for (const auto& [name, value] : sorted) {
    if (const auto written = write_setting(queue_folder(disk) + name, value); !written) {
      return refused(disk, name, value, written.error());
    }
  }
  // What changed in the wake of another file, though nobody asked for it, is held.
  const std::string read_ahead = queue_folder(disk) + kReadAhead;
  const std::string before = before_of(saved, read_ahead);
  if (asked_for(sorted, kReadAhead) == nullptr && !before.empty() &&
      read_setting(read_ahead).value_or(before) != before) {
    return write_setting(read_ahead, before);
  }
  return {};
}

Result<std::vector<AskedGot>> read_back(const std::string& disk, const QueueWish& wish,
                                        const Loan& saved) {
  std::vector<AskedGot> all;
  for (const auto& [name, value] : wish) {
    const std::string path = queue_folder(disk) + name;
    BLKSWEEP_TRY(std::string got, read_setting(path));
    all.push_back({name, value, std::move(got), before_of(saved, path)});
  }
  return all;
}

Result<std::vector<AskedGot>> change(const std::string& disk, const QueueWish& wish,
                                     const Loan& saved) {
  QueueWish sorted = wish;
  std::ranges::stable_sort(sorted, {}, [](const auto& w) { return rank_of(w.first); });
  BLKSWEEP_CHECK(write_wish(disk, sorted, saved));
  return read_back(disk, wish, saved);
}

}  // namespace

std::vector<std::string> schedulers_of(const std::string& disk) {
  return words_of(first_line(queue_folder(disk) + kScheduler));
}

// Lines are "kernel/block/bfq.ko.xz: kernel/...".
bool scheduler_is_module(const std::string& scheduler, const std::string& modules) {
  utsname kernel{};
  ::uname(&kernel);
  std::ifstream in(modules.empty() ? fmt::format("/lib/modules/{}/modules.dep", kernel.release)
                                   : modules);
  for (std::string line; std::getline(in, line);) {
    const fs::path path = line.substr(0, line.find(':'));
    const std::string file = path.filename().string();
    const bool named =
        file.starts_with(scheduler + ".ko") || file.starts_with(scheduler + "-iosched.ko");
    if (named && path.parent_path().filename() == "block") {
      return true;
    }
  }
  return false;
}

std::string scheduler_of(const std::string& disk) {
  const std::string text = first_line(queue_folder(disk) + kScheduler);
  const std::string marked = marked_word(text);
  return marked.empty() && words_of(text).size() == 1 ? words_of(text).front() : marked;
}

Result<std::vector<AskedGot>> set_queue(const std::string& disk, const QueueWish& wish,
                                        Borrowing& borrowing) {
  if (wish.empty()) {
    return std::vector<AskedGot>();
  }
  BLKSWEEP_CHECK(check_wish(disk, wish));
  Loan saved;
  BLKSWEEP_CHECK(borrowing.add(key_of(disk), [&]() -> Result<Loan> {
    BLKSWEEP_TRY(saved, saved_queue(disk, wish));
    return saved;
  }));
  auto all = change(disk, wish, saved);
  if (!all) {
    BLKSWEEP_CHECK(borrowing.take_back());
    return all;
  }
  for (const AskedGot& one : *all) {
    borrowing.changed({queue_folder(disk) + one.name, one.got});
  }
  return all;
}

// Of a scheduler the whole list is a setting's text, with the one that is on in brackets; and no
// kernel takes another one than it was given, so that what it reads at once is not believed either.
std::vector<std::pair<std::string, std::string>> settings_with(const std::vector<AskedGot>& set,
                                                               const std::string& disk) {
  auto settings = queue_settings(disk);
  for (auto& [name, value] : settings) {
    const auto own = std::ranges::find(set, name, &AskedGot::name);
    if (own == set.end()) {
      continue;
    }
    const std::string& left = name == kScheduler ? own->asked : own->got;
    if (value != left && marked_word(value) != left) {
      value = left;
    }
  }
  return settings;
}

Result<> put_back_queue(const std::string& disk, const BorrowingPlaces& places) {
  return put_back_left_behind(key_of(disk), places);
}

std::vector<std::pair<std::string, std::string>> scheduler_tunables(const std::string& disk) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& name : names_of_writable(queue_folder(disk) + "iosched")) {
    all.emplace_back(name, first_line(queue_folder(disk) + std::string(kTunables) + name));
  }
  return all;
}

}  // namespace blksweep
