#include "disk/registry.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "os/block/device_layers.h"
#include "os/file/file.h"
#include "os/file/folder_entries.h"
#include "os/file/own_folder.h"
#include "os/process/process_id.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameLength = 32;
constexpr std::size_t kLongestState = std::size_t{1} << 20;
constexpr std::chrono::seconds kLockPatience{5};

bool name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "there is none" : fmt::format("there are: {}", joined(names, ", "));
}

}  // namespace

Result<> check_disk_name(const std::string& name) {
  const bool begins = !name.empty() && name[0] != '-' && name[0] != '_';
  if (!begins || name.size() > kNameLength || !std::ranges::all_of(name, name_letter)) {
    return usage_error(fmt::format(
        "'{}' is no name for a disk: use up to {} letters, digits, '-' and '_', the first a letter "
        "or digit",
        name, kNameLength));
  }
  return {};
}

Registry::Registry(std::string base) : base_(std::move(base)), root_(base_ + "/blksweep/disks") {}

Result<> Registry::create(const std::string& name) const {
  BLKSWEEP_CHECK(check_disk_name(name));
  BLKSWEEP_CHECK(own_folder(base_ + "/blksweep"));
  BLKSWEEP_CHECK(own_folder(root_));
  if (::mkdir(folder(name).c_str(), 0700) != 0) {
    return sys_error(errno, "make the folder " + folder(name));
  }
  return own_folder(io_folder(name));
}

bool Registry::exists(const std::string& name) const {
  struct stat st {};
  return check_disk_name(name) && ::lstat(folder(name).c_str(), &st) == 0;
}

Result<> Registry::save(const DiskState& state) const {
  return write_file(folder(state.name) + "/state.json", to_json_text(state));
}

Result<DiskState> Registry::load(const std::string& name) const {
  BLKSWEEP_CHECK(check_disk_name(name));
  BLKSWEEP_CHECK(check_own_folders(base_, {"blksweep", "disks", name}));
  if (!exists(name)) {
    return fail(fmt::format("no disk {}: {} (blksweep disk list)", name, list_of(names())));
  }
  const std::string file = folder(name) + "/state.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {  // killed at once after it began
    DiskState state;
    state.name = name;
    return state;
  }
  BLKSWEEP_TRY(const std::string text, read_own_file(file, kLongestState));
  BLKSWEEP_TRY(DiskState state, parse_disk_state(text, file));
  state.name = name;
  return state;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> out;
  if (const auto ours = check_own_folders(base_, {"blksweep", "disks"}); !ours) {
    warn(ours.error().message());
    return out;
  }
  const Result<std::vector<std::string>> paths = paths_in_any(root_);
  if (!paths) {
    warn(paths.error().message());
  }
  for (const std::string& path : paths.value_or(std::vector<std::string>())) {
    if (const std::string name = fs::path(path).filename().string(); check_disk_name(name)) {
      out.push_back(name);
    }
  }
  return out;
}

Result<> Registry::remove(const std::string& name) const {
  BLKSWEEP_CHECK(check_disk_name(name));
  BLKSWEEP_CHECK(check_own_folders(base_, {"blksweep", "disks", name}));
  // First, because it fails as long as something is mounted: the files still tell whose it is.
  if (::rmdir(io_folder(name).c_str()) != 0 && errno != ENOENT) {
    return sys_error(errno, "remove " + io_folder(name));
  }
  BLKSWEEP_TRY(const std::vector<std::string> files, paths_in_any(folder(name)));
  for (const std::string& file : files) {
    ::unlink(file.c_str());
  }
  if (::rmdir(folder(name).c_str()) != 0 && errno != ENOENT) {
    return sys_error(errno, "remove " + folder(name));
  }
  return {};
}

std::optional<ProcessId> Registry::daemon(const std::string& name) const {
  ProcessId id;
  std::istringstream in(whole_text(daemon_file(name)));
  if (!(in >> id.pid >> id.start_time) || !is_alive(id)) {
    return std::nullopt;
  }
  return id;
}

Result<DiskLock> DiskLock::take(const Registry& registry, const std::string& name) {
  const std::string path = registry.folder(name);
  BLKSWEEP_TRY(std::optional<Fd> folder, lock_folder(path, kLockPatience));
  if (!folder) {
    return fail(fmt::format(
        "disk {} is being started, changed or stopped by another blksweep: try again", name));
  }
  return DiskLock(*std::move(folder));
}

std::string EmulatedDisk::hardware_name() const {
  return fmt::format("emulated {} x{}", model, speedup);
}

std::optional<EmulatedDisk> emulated_disk(const std::string& disk, const Registry& registry) {
  const std::string file = first_line("/sys/block/" + disk + "/loop/backing_file");
  for (const std::string& name : registry.names()) {
    if (file == registry.data_file(name)) {
      const auto state = registry.load(name);
      auto spec = state ? parse_model(state->model_toml, state->model) : Result<ModelSpec>();
      if (!state || !spec) {
        return std::nullopt;
      }
      return EmulatedDisk{name,        state->model,     state->backing,  state->speedup,
                          state->size, *std::move(spec), state->times_set};
    }
  }
  return std::nullopt;
}

std::optional<EmulatedDisk> emulated_beneath(const std::string& disk) {
  for (const DiskFacts& layer : device_layers(disk)) {
    if (auto emulated = emulated_disk(layer.disk)) {
      return emulated;
    }
  }
  return std::nullopt;
}

}  // namespace blksweep
