#include "os/block/setting_watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "os/block/device_layers.h"
#include "os/cgroup.h"

namespace blksweep {
namespace {

constexpr const char* kGroup = "cgroup";

// Who enters a group writes to its files, too.
constexpr std::array<std::string_view, 10> kGroupLimits = {"memory.limit_in_bytes",
                                                           "memory.max",
                                                           "memory.high",
                                                           "cpu.max",
                                                           "cpu.cfs_quota_us",
                                                           "cpu.cfs_period_us",
                                                           "cpuset.cpus",
                                                           "io.max",
                                                           "blkio.throttle.read_bps_device",
                                                           "blkio.throttle.read_iops_device"};

// "cpu12" takes work when its `online` says so, "smt" has all second threads in `control`; beside
// these they have `uevent`, which changes nothing.
bool is_cpu(const std::string& owner) {
  return owner == "smt" || (owner.starts_with("cpu") && owner.size() > 3 &&
                            owner.find_first_not_of("0123456789", 3) == std::string::npos);
}

bool is_setting(const std::string& owner, std::string_view name) {
  if (is_cpu(owner)) {
    return name == "online" || name == "control";
  }
  return owner != kGroup || std::ranges::find(kGroupLimits, name) != kGroupLimits.end();
}

}  // namespace

SettingWatch::SettingWatch() : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

SettingWatch SettingWatch::begin(const std::string& disk) {
  SettingWatch watch;
  if (!disk.empty()) {
    for (const DiskFacts& layer : device_layers(disk)) {
      watch.add_disk(layer.disk);
    }
  }
  for (const Controller c : {Controller::memory, Controller::io, Controller::cpu}) {
    watch.add_group(cgroup_place(c).own);
  }
  watch.add_cpus();
  return watch;
}

void SettingWatch::add(const std::string& folder, const std::string& owner) {
  constexpr std::uint32_t kWrites = IN_MODIFY | IN_ONLYDIR;
  if (const int wd = ::inotify_add_watch(events_.get(), folder.c_str(), kWrites); wd >= 0) {
    owners_[wd] = owner;
  }
}

void SettingWatch::add_disk(const std::string& disk) {
  for (const char* folder : {"queue", "queue/iosched", "bdi"}) {  // bdi has read_ahead_kb, too
    add(fmt::format("/sys/block/{}/{}", disk, folder), disk);
  }
}

void SettingWatch::add_group(const std::string& folder) {
  if (!folder.empty()) {
    add(folder, kGroup);
  }
}

void SettingWatch::add_cpus(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (const std::string name = entry.path().filename(); is_cpu(name)) {
      add(entry.path(), name);
    }
  }
}

std::string SettingWatch::written() {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  ssize_t n = 0;
  while ((n = ::read(events_.get(), buffer.data(), buffer.size())) > 0 ||
         (n < 0 && errno == EINTR)) {
    for (ssize_t at = 0; at < n;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const name = buffer.data() + at + sizeof event;
      const auto owner = owners_.find(event.wd);
      if (owner != owners_.end() && event.len > 0 && is_setting(owner->second, name)) {
        seen_.insert(fmt::format("{} {}", owner->second, name));
      }
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  return seen_.empty() ? ""
                       : fmt::format(
                             "settings were written meanwhile, and may have been others for a "
                             "while: {}",
                             joined(seen_, ", "));
}

}  // namespace blksweep
