#include "node/journal/journal.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/json.h"

namespace blksweep {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kSumDigits = 16;
constexpr std::array<std::pair<LoanKind, const char*>, 6> kKinds = {{
    {LoanKind::values, "values"},
    {LoanKind::cgroup, "cgroup"},
    {LoanKind::controllers, "controllers"},
    {LoanKind::disk, "disk"},
    {LoanKind::image, "image"},
    {LoanKind::mount, "mount"},
}};

std::string checksum(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string to_line(const Json& j) {
  const std::string text = json_line(j);
  return checksum(text) + " " + text + "\n";
}

Json to_json(const SavedValue& v) { return {{"path", v.path}, {"value", v.value}}; }

// A line that is whole and has its checksum; nullopt otherwise.
std::optional<Json> parse_line(std::string_view line) {
  if (line.size() <= kSumDigits || line[kSumDigits] != ' ' ||
      line.substr(0, kSumDigits) != checksum(line.substr(kSumDigits + 1))) {
    return std::nullopt;
  }
  Json j = parse_json(line.substr(kSumDigits + 1));
  return j.is_object() ? std::optional(std::move(j)) : std::nullopt;
}

bool take(const Json& j, const char* key, std::string& out) {
  const auto at = j.find(key);
  if (at == j.end() || !at->is_string()) {
    return false;
  }
  out = at->get<std::string>();
  return out.find('\0') == std::string::npos;
}

template <class T>
bool take(const Json& j, const char* key, T& out) {
  const auto at = j.find(key);
  if (at == j.end() || !at->is_number_integer() || at->get<std::int64_t>() < 0) {
    return false;
  }
  out = at->get<T>();
  return true;
}

bool take(const Json& j, const char* key, bool& out) {
  const auto at = j.find(key);
  if (at == j.end() || !at->is_boolean()) {
    return false;
  }
  out = at->get<bool>();
  return true;
}

bool take(const Json& j, SavedValue& out) {
  return j.is_object() && take(j, "path", out.path) && take(j, "value", out.value);
}

bool take(const Json& j, std::vector<SavedValue>& out) {
  const auto at = j.find("values");
  if (at == j.end() || !at->is_array()) {
    return false;
  }
  return std::ranges::all_of(*at,
                             [&out](const Json& one) { return take(one, out.emplace_back()); });
}

bool take(const Json& j, Loan& out) {
  std::string kind;
  if (!take(j, "kind", kind)) {
    return false;
  }
  const auto* found = std::ranges::find_if(kKinds, [&](const auto& k) { return kind == k.second; });
  if (found == kKinds.end()) {
    return false;
  }
  out.kind = found->first;
  return take(j, "key", out.key) && take(j, "what", out.what) && take(j, "path", out.path) &&
         take(j, "text", out.text) && take(j, out.values);
}

JournalRecord* record_of(Journal& journal, std::size_t number) {
  return number >= 1 && number <= journal.records.size() ? &journal.records[number - 1] : nullptr;
}

// A line behind the first; false when it is none that we write.
bool add_event(Journal& journal, const Json& j) {
  std::size_t number = 0;
  if (take(j, "loan", number)) {
    JournalRecord record{.number = number, .loan = {}, .changed = {}};
    const bool fits = number == journal.records.size() + 1 && take(j, record.loan);
    journal.records.push_back(std::move(record));
    return fits;
  }
  if (take(j, "changed", number)) {
    JournalRecord* record = record_of(journal, number);
    SavedValue reads;
    if (record == nullptr || !take(j, reads)) {
      return false;
    }
    record->changed.push_back(std::move(reads));
    return true;
  }
  JournalRecord* record = take(j, "undone", number) ? record_of(journal, number) : nullptr;
  if (record != nullptr) {
    record->undone = true;
  }
  return record != nullptr;
}

constexpr const char* kWayOut =
    "nothing of it was put back; `blksweep node restore --discard` removes it unread";

tl::unexpected<Error> damaged(const std::string& path, std::size_t line) {
  return fail(fmt::format("journal {} is damaged in line {}: {}", path, line, kWayOut));
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Who the file's name says it is: of a journal whose first line never became whole.
bool owner_of_name(const std::string& name, JournalOwner& owner) {
  if (name == kKeptJournal) {
    owner.kept = true;
    return true;
  }
  const char* end = name.data() + name.size();
  const auto [dash, bad_pid] = std::from_chars(name.data(), end, owner.id.pid);
  if (bad_pid != std::errc{} || dash == end) {
    return false;
  }
  const auto [rest, bad_time] = std::from_chars(dash + 1, end, owner.id.start_time);
  return bad_time == std::errc{} && rest == end && owner.id.pid > 0 && journal_name(owner) == name;
}

Result<JournalOwner> parse_header(const std::string& path, std::string_view line,
                                  const std::string& boot) {
  const std::optional<Json> j = parse_line(line);
  int version = 0;
  std::string made_in;
  JournalOwner owner;
  if (!j || !take(*j, "blksweep_journal", version)) {
    return damaged(path, 1);
  }
  if (version != kVersion) {
    return fail(fmt::format("journal {} is of version {}, this program knows {}: {}", path, version,
                            kVersion, kWayOut));
  }
  if (!take(*j, "boot", made_in) || !take(*j, "pid", owner.id.pid) ||
      !take(*j, "start_time", owner.id.start_time) || !take(*j, "command", owner.command) ||
      !take(*j, "kept", owner.kept) || journal_name(owner) != file_name(path)) {
    return damaged(path, 1);
  }
  if (made_in != boot) {
    return fail(fmt::format("journal {} is of another boot, which took its changes with it: {}",
                            path, kWayOut));
  }
  return owner;
}

}  // namespace

std::string journal_name(const JournalOwner& owner) {
  return owner.kept ? kKeptJournal : fmt::format("{}-{}", owner.id.pid, owner.id.start_time);
}

std::string header_line(const JournalOwner& owner, const std::string& boot) {
  return to_line({{"blksweep_journal", kVersion},
                  {"boot", boot},
                  {"pid", owner.id.pid},
                  {"start_time", owner.id.start_time},
                  {"command", owner.command},
                  {"kept", owner.kept}});
}

std::string loan_line(std::size_t number, const Loan& loan) {
  Json values = Json::array();
  for (const SavedValue& v : loan.values) {
    values.push_back(to_json(v));
  }
  const auto* kind = std::ranges::find(kKinds, loan.kind, [](const auto& k) { return k.first; });
  return to_line({{"loan", number},
                  {"kind", kind->second},
                  {"key", loan.key},
                  {"what", loan.what},
                  {"values", values},
                  {"path", loan.path},
                  {"text", loan.text}});
}

std::string changed_line(std::size_t number, const SavedValue& reads) {
  return to_line({{"changed", number}, {"path", reads.path}, {"value", reads.value}});
}

std::string undone_line(std::size_t number) { return to_line({{"undone", number}}); }

Result<Journal> parse_journal(const std::string& path, std::string_view text,
                              const std::string& boot) {
  Journal journal;
  journal.name = file_name(path);
  if (!owner_of_name(journal.name, journal.owner)) {
    return fail(fmt::format("{} is not named as a journal is: {}", path, kWayOut));
  }
  for (std::size_t line = 1; journal.valid_bytes < text.size(); ++line) {
    const std::size_t end = text.find('\n', journal.valid_bytes);
    if (end == std::string_view::npos) {
      break;
    }
    const std::string_view one = text.substr(journal.valid_bytes, end - journal.valid_bytes);
    if (line == 1) {
      BLKSWEEP_TRY(journal.owner, parse_header(path, one, boot));
    } else if (const auto j = parse_line(one); !j || !add_event(journal, *j)) {
      return damaged(path, line);
    }
    journal.valid_bytes = end + 1;
  }
  return journal;
}

}  // namespace blksweep
