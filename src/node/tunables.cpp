// Whole-node values: vm/* and the CPUs' frequency governor.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "node/queue.h"
#include "node/setting.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGovernor = "cpu/governor";
constexpr const char* kCpus = "/sys/devices/system/cpu";

struct Tunable {
  const char* name;
  const char* twin;  // setting one makes the other 0; nullptr: none
  const char* key;
};
constexpr std::array<Tunable, 5> kVm = {{
    {"vm/vfs_cache_pressure", nullptr, "vm/vfs_cache_pressure"},
    {"vm/dirty_ratio", "vm/dirty_bytes", "vm/dirty"},
    {"vm/dirty_bytes", "vm/dirty_ratio", "vm/dirty"},
    {"vm/dirty_background_ratio", "vm/dirty_background_bytes", "vm/dirty_background"},
    {"vm/dirty_background_bytes", "vm/dirty_background_ratio", "vm/dirty_background"},
}};

std::string vm_path(const std::string& name) { return "/proc/sys/" + name; }

// One file of each CPU that has them; CPUs of one policy share one, by links.
std::vector<std::string> governor_files() {
  std::vector<std::string> files;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(kCpus, ec)) {
    const std::string file = entry.path().string() + "/cpufreq/scaling_governor";
    if (entry.path().filename().string().starts_with("cpu") && fs::exists(file, ec)) {
      files.push_back(file);
    }
  }
  std::ranges::sort(files);
  return files;
}

Result<std::vector<SavedValue>> read_all(const std::vector<std::string>& files) {
  std::vector<SavedValue> values;
  for (const std::string& file : files) {
    BLKSWEEP_TRY(std::string value, read_setting(file));
    values.push_back({file, std::move(value)});
  }
  return values;
}

// "performance", or "performance, powersave" where CPUs differ.
std::string values_of(const std::vector<SavedValue>& values) {
  std::vector<std::string> all;
  for (const SavedValue& v : values) {
    all.push_back(v.value);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return joined(all, ", ");
}

// The one that counts (the other is 0) is the one to be written back. Were both 0, only a change
// of the ratio would make the bytes 0 again: a detour over 1.
std::vector<SavedValue> twins(std::vector<SavedValue> both) {
  const auto is_zero = [](const SavedValue& v) { return v.value == "0"; };
  if (std::ranges::all_of(both, is_zero)) {
    std::ranges::sort(both, {}, [](const SavedValue& v) { return v.path.ends_with("_bytes"); });
    both.insert(both.begin(), {both.front().path, "1"});
    return both;
  }
  std::ranges::stable_sort(both, {}, is_zero);
  return both;
}

struct Change {
  std::string key, what;
  std::vector<std::string> saved, written;  // files
};

Result<Loan> loan_of(const Change& change) {
  BLKSWEEP_TRY(std::vector<SavedValue> values, read_all(change.saved));
  const bool paired = change.saved.size() == 2 && change.written.size() == 1;
  return Loan{.key = change.key,
              .what = change.what,
              .values = paired ? twins(std::move(values)) : std::move(values)};
}

Result<> write_all(const Change& change, const std::string& value) {
  for (const std::string& file : change.written) {
    BLKSWEEP_CHECK(write_setting(file, value));
  }
  return {};
}

Result<AskedGot> borrow(const std::string& name, const Change& change, const std::string& value,
                        Borrowing& borrowing) {
  AskedGot result{.name = name, .asked = value, .got = "", .before = ""};
  BLKSWEEP_CHECK(borrowing.add(change.key, [&]() -> Result<Loan> {
    BLKSWEEP_TRY(const auto before, read_all(change.written));
    result.before = values_of(before);
    return loan_of(change);
  }));
  const auto written = write_all(change, value);
  const auto now = read_all(change.written);
  if (!written || !now) {
    BLKSWEEP_CHECK(borrowing.take_back());
    return tl::unexpected(written ? now.error() : written.error());
  }
  for (const SavedValue& v : *now) {
    borrowing.changed(v);
  }
  result.got = values_of(*now);
  return result;
}

Result<AskedGot> set_governor(const std::string& value, Borrowing& borrowing) {
  const std::vector<std::string> files = governor_files();
  if (files.empty()) {
    return unsupported(
        "cpu/governor: the CPUs of this node have no frequency governor (a virtual machine, or "
        "cpufreq is off)");
  }
  const std::string list =
      first_line(fs::path(files.front()).parent_path().string() + "/scaling_available_governors");
  const std::vector<std::string> known = words_of(list);
  if (!known.empty() && std::ranges::find(known, value) == known.end()) {
    return fail(
        fmt::format("'{}' is no governor of this node, which has: {}", value, joined(known, ", ")));
  }
  return borrow(kGovernor, {kGovernor, "the CPU governor", files, files}, value, borrowing);
}

}  // namespace

Result<AskedGot> set_tunable(const std::string& name, const std::string& value,
                             Borrowing& borrowing) {
  if (name == kGovernor) {
    return set_governor(value, borrowing);
  }
  const auto* at = std::ranges::find(kVm, name, [](const Tunable& t) { return t.name; });
  if (at == kVm.end()) {
    return usage_error("'" + name + "' is no setting of the node that may be borrowed");
  }
  std::vector<std::string> saved = {vm_path(name)};
  if (at->twin != nullptr) {
    saved.push_back(vm_path(at->twin));
  }
  return borrow(name, {at->key, name, saved, {vm_path(name)}}, value, borrowing);
}

std::vector<std::pair<std::string, std::string>> tunables() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Tunable& t : kVm) {
    if (const auto value = read_setting(vm_path(t.name))) {
      all.emplace_back(t.name, *value);
    }
  }
  if (const auto governors = read_all(governor_files()); governors && !governors->empty()) {
    all.emplace_back(kGovernor, values_of(*governors));
  }
  return all;
}

}  // namespace blksweep
