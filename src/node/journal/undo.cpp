#include "node/journal/undo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "node/setting.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProcesses = "/cgroup.procs";

bool is_gone(const Error& error) {
  return error.sys_errno == ENOENT || error.sys_errno == ENODEV || error.sys_errno == ENXIO;
}

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

// The first failure of several steps that are all tried.
void keep_first(std::optional<Error>& first, const Error& next) {
  if (!first) {
    first = next;
  }
}

const std::string* last_reading(const JournalRecord& record, const std::string& path) {
  const std::string* last = nullptr;
  for (const SavedValue& v : record.changed) {
    last = v.path == path ? &v.value : last;
  }
  return last;
}

struct Progress {
  std::vector<std::string> done;
  std::optional<Error> failure;
};

// What somebody else wrote after us, judged before anything is put back: a scheduler that goes back
// takes other settings with it. Pairs of path and what we had made of it.
std::vector<SavedValue> changed_by_others(const JournalRecord& record) {
  std::vector<SavedValue> found;
  for (const SavedValue& saved : record.loan.values) {
    const std::string* const ours = last_reading(record, saved.path);
    const Result<std::string> now = read_setting(saved.path);
    if (ours != nullptr && now && *now != *ours && *now != saved.value) {
      found.push_back({saved.path, *ours});
    }
  }
  return found;
}

std::string note_on(const std::vector<SavedValue>& foreign, const std::string& path) {
  const auto at = std::ranges::find(foreign, path, &SavedValue::path);
  return at == foreign.end() ? ""
                             : fmt::format(" (somebody else had changed it from {})", at->value);
}

void put_back(const SavedValue& saved, const std::vector<SavedValue>& foreign, Progress& progress) {
  const Result<std::string> now = read_setting(saved.path);
  if (!now) {
    if (is_gone(now.error())) {
      progress.done.push_back(name_of(saved.path) + " is gone");
    } else {
      keep_first(progress.failure, now.error());
    }
    return;
  }
  if (*now == saved.value) {
    return;
  }
  if (const auto written = write_setting(saved.path, saved.value); !written) {
    keep_first(progress.failure, written.error());
    return;
  }
  progress.done.push_back(fmt::format("{} {} -> {}{}", name_of(saved.path), *now, saved.value,
                                      note_on(foreign, saved.path)));
}

// A path may stand twice (a detour the kernel needs): the last value counts.
std::optional<Error> differs(const std::vector<SavedValue>& values) {
  for (auto v = values.begin(); v != values.end(); ++v) {
    const bool last = std::none_of(v + 1, values.end(),
                                   [v](const SavedValue& later) { return later.path == v->path; });
    const Result<std::string> now = last ? read_setting(v->path) : Result<std::string>(v->value);
    if (now && *now != v->value) {
      return Error{
          fmt::format("{} reads '{}' after '{}' was written back", v->path, *now, v->value)};
    }
  }
  return std::nullopt;
}

// Twice: some settings follow others (nr_requests sets iosched/async_depth).
Result<std::string> undo_values(const JournalRecord& record) {
  const std::vector<SavedValue> foreign = changed_by_others(record);
  std::vector<std::string> done;
  std::optional<Error> failure;
  for (int pass = 0; pass < 2; ++pass) {
    Progress progress;
    for (const SavedValue& saved : record.loan.values) {
      put_back(saved, foreign, progress);
    }
    done.insert(done.end(), progress.done.begin(), progress.done.end());
    failure = progress.failure ? progress.failure : differs(record.loan.values);
    if (!failure) {
      break;
    }
  }
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  return done.empty() ? "was as before" : joined(done, "; ");
}

Result<std::string> undo_controllers(const Loan& loan) {
  if (const auto written = write_setting(loan.path, loan.text); !written) {
    if (is_gone(written.error())) {
      return std::string("is gone");
    }
    return tl::unexpected(written.error());
  }
  return loan.text;
}

Result<std::string> undo_cgroup(const Loan& loan) {
  std::error_code ec;
  if (!fs::exists(loan.path, ec)) {
    return std::string("is gone");
  }
  if (!loan.text.empty() && holds_this_process(loan.path)) {
    BLKSWEEP_CHECK(write_setting(loan.text + kProcesses, std::to_string(::getpid())));
  }
  BLKSWEEP_CHECK(remove_cgroup(loan.path));
  return std::string("removed");
}

// The group itself, not one above it: a service called blksweep has groups of others.
bool is_our_group(const std::string& path) { return name_of(path).starts_with("blksweep"); }

tl::unexpected<Error> not_ours(const std::string& path) {
  return fail(path + " is not a setting that this program borrows: it is not touched");
}

Result<> check_below(const std::string& path, const std::vector<std::string>& permitted) {
  BLKSWEEP_TRY(const bool ours, is_really_below(path, permitted));
  return ours ? Result<>() : Result<>(not_ours(path));
}

}  // namespace

Result<> check_loan(const Loan& loan, const std::vector<std::string>& permitted) {
  for (const SavedValue& v : loan.values) {
    BLKSWEEP_CHECK(check_below(v.path, permitted));
  }
  if (loan.kind == LoanKind::values) {
    return {};
  }
  if (is_disk_loan(loan.kind)) {
    return check_disk_loan(loan) ? Result<>() : Result<>(not_ours(loan.path));
  }
  const bool fits = loan.kind == LoanKind::cgroup ? is_our_group(loan.path)
                                                  : name_of(loan.path) == "cgroup.subtree_control";
  if (!fits) {
    return not_ours(loan.path);
  }
  BLKSWEEP_CHECK(check_below(loan.path, permitted));
  const bool place = loan.kind == LoanKind::cgroup && !loan.text.empty();
  return place ? check_below(loan.text + kProcesses, permitted) : Result<>();
}

Result<std::string> undo(const JournalRecord& record, const std::vector<std::string>& permitted) {
  BLKSWEEP_CHECK(check_loan(record.loan, permitted));
  switch (record.loan.kind) {
    case LoanKind::values:
      return undo_values(record);
    case LoanKind::cgroup:
      return undo_cgroup(record.loan);
    case LoanKind::controllers:
      return undo_controllers(record.loan);
    case LoanKind::disk:
    case LoanKind::image:
    case LoanKind::mount:
      return undo_disk(record.loan);
  }
  return fail("a loan of no known kind");
}

}  // namespace blksweep
