#include "node/pin/registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "os/block/holders.h"
#include "os/file/denied.h"
#include "os/file/file.h"
#include "os/file/folder_entries.h"
#include "os/file/own_folder.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameLength = 32;
constexpr std::chrono::seconds kRegistryPatience{
    10};  // held for the time of a few small files only
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of an entry

bool name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// For others than root the folder is root's, whatever else may be said of it.
tl::unexpected<Error> needs_root(const Error& cause) {
  const bool denied = ::geteuid() != 0 || cause.sys_errno == EROFS;
  if (!denied) {
    return tl::unexpected(cause);
  }
  return unsupported(cause.text +
                     "; pins are kept there: " + denied_words(cause.sys_errno, "that needs root"));
}

}  // namespace

Result<> check_pin_name(const std::string& name) {
  const bool begins = !name.empty() && name[0] != '-' && name[0] != '_';
  if (!begins || name.size() > kNameLength || !std::ranges::all_of(name, name_letter)) {
    return usage_error(fmt::format(
        "'{}' is no name for a pin: use up to {} letters, digits, '-' and '_', the first a letter "
        "or digit",
        name, kNameLength));
  }
  return {};
}

PinRegistry::PinRegistry(std::string base)
    : base_(std::move(base)), root_(base_ + "/blksweep/pins") {}

Result<> PinRegistry::make() const {
  if (const Result<> made = own_folders(base_, {"blksweep", "pins"}); !made) {
    return needs_root(made.error());
  }
  return {};
}

Result<Fd> PinRegistry::lock() const {
  BLKSWEEP_CHECK(check_own_folders(base_, {"blksweep", "pins"}));
  BLKSWEEP_TRY(std::optional<Fd> folder, lock_folder(root_, kRegistryPatience));
  if (!folder) {
    return fail(fmt::format("{} has been locked for ten seconds by {}: let it go on or end it",
                            root_, to_text(holders_of({root_}))));
  }
  return *std::move(folder);
}

Result<> PinRegistry::check_free(const std::string& name) const {
  BLKSWEEP_CHECK(check_pin_name(name));
  BLKSWEEP_CHECK(make());
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(file(name), ignored))) {
    return {};
  }
  BLKSWEEP_TRY(const PinEntry other, load(name));
  if (!is_alive(other.daemon)) {
    return {};
  }
  return fail(fmt::format(
      "there is a pin {} already ({} files by {}, pid {}): take another --name, "
      "or 'blksweep cache unpin {}' first",
      name, format_count(other.count.files), to_string(other.kind), other.daemon.pid, name));
}

Result<> PinRegistry::claim(const PinEntry& entry) const {
  BLKSWEEP_CHECK(make());
  BLKSWEEP_TRY(const Fd locked, lock());
  BLKSWEEP_CHECK(check_free(entry.name));
  return save(entry);
}

Result<> PinRegistry::save(const PinEntry& entry) const {
  return write_file(file(entry.name), to_json_text(entry));
}

Result<PinEntry> PinRegistry::load(const std::string& name) const {
  BLKSWEEP_CHECK(check_pin_name(name));
  BLKSWEEP_CHECK(check_own_folders(base_, {"blksweep", "pins"}));
  const Result<std::string> text = read_own_file(file(name), kMostBytes);
  if (!text) {
    if (text.error().sys_errno != ENOENT) {
      return needs_root(text.error());
    }
    const Result<std::vector<std::string>> all = names();
    return fail(fmt::format(
        "no pin {}: {} (blksweep cache list)", name,
        all && !all->empty() ? fmt::format("there are: {}", joined(*all, ", ")) : "there is none"));
  }
  return parse_pin_entry(*text, file(name));
}

Result<std::vector<std::string>> PinRegistry::names() const {
  BLKSWEEP_CHECK(check_own_folders(base_, {"blksweep", "pins"}));
  std::vector<std::string> out;
  const Result<std::vector<std::string>> paths = paths_in_any(root_);
  if (!paths) {
    return needs_root(paths.error());
  }
  for (const std::string& path : *paths) {
    if (const std::string name = fs::path(path).filename().string(); check_pin_name(name)) {
      out.push_back(name);
    }
  }
  return out;
}

Result<> PinRegistry::remove(const std::string& name, const ProcessId& daemon) const {
  BLKSWEEP_TRY(const Fd locked, lock());
  const Result<PinEntry> now = load(name);
  if (!now && now.error().sys_errno != 0) {
    return tl::unexpected(now.error());
  }
  if (!now || now->daemon.pid != daemon.pid || now->daemon.start_time != daemon.start_time) {
    return {};
  }
  return discard(name);
}

Result<> PinRegistry::discard(const std::string& name) const {
  if (::unlink(file(name).c_str()) != 0 && errno != ENOENT) {
    return sys_error(errno, "remove " + file(name));
  }
  return {};
}

}  // namespace blksweep
