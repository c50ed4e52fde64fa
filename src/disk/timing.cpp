#include "disk/timing.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "os/file/file.h"
#include "os/process/process_id.h"

namespace blksweep {
namespace {

constexpr int kReads = 300;
constexpr std::int64_t kFixedNs = 500'000;
constexpr std::int64_t kNoiseNs = 50'000;

Result<> write_timing(const Registry& registry, const std::string& name, const Json& timing) {
  const std::string path = registry.io_folder(name) + "/timing";
  Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  const std::string text = json_line(timing);
  if (::write(fd.get(), text.data(), text.size()) != std::ssize(text)) {
    return fail(fmt::format("disk {}: the daemon refused the timing: see {}", name,
                            registry.log_file(name)));
  }
  return {};
}

Result<std::vector<std::int64_t>> read_times(const std::string& device, std::uint64_t size) {
  Fd fd(::open(device.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!fd) {
    return sys_error(errno, "open " + device);
  }
  BLKSWEEP_TRY(PageBuffer buffer, PageBuffer::allocate(Bytes{kPageBytes}));
  Rng rng(1);
  std::vector<std::int64_t> times;
  for (int i = 0; i < kReads; ++i) {
    const std::uint64_t at = rng.below(std::max<std::uint64_t>(1, size / kPageBytes)) * kPageBytes;
    const std::int64_t begin = now_ns();
    BLKSWEEP_CHECK(pread_full(fd.get(), buffer.span().first(kPageBytes), at, device));
    times.push_back(now_ns() - begin);
  }
  return times;
}

}  // namespace

Result<> require_running(const Registry& registry, const std::string& name) {
  const auto id = registry.daemon(name);
  if (!id) {
    return fail(
        fmt::format("disk {}: its daemon is dead: 'blksweep disk stop {}' cleans up", name, name));
  }
  if (is_stopped(*id)) {
    return fail(fmt::format("disk {}: its daemon {} is held by a signal: 'kill -CONT {}'", name,
                            id->pid, id->pid));
  }
  return {};
}

Result<> apply_timing(const Registry& registry, const DiskState& state) {
  BLKSWEEP_CHECK(require_running(registry, state.name));
  return write_timing(registry, state.name,
                      {{"model", state.model},
                       {"toml", state.model_toml},
                       {"speedup", state.speedup},
                       {"path_ns", state.path_ns}});
}

Result<std::int64_t> measure_path(const Registry& registry, const DiskState& state) {
  BLKSWEEP_CHECK(write_timing(registry, state.name, {{"fixed_ns", kFixedNs}}));
  BLKSWEEP_TRY(std::vector<std::int64_t> times, read_times(state.device, state.size));
  BLKSWEEP_CHECK(write_timing(registry, state.name, Json::object()));
  std::ranges::sort(times);
  const std::int64_t quiet = std::max<std::int64_t>(0, times[kReads / 10] - kFixedNs);
  const std::int64_t median = times[kReads / 2] - kFixedNs;
  if (median > 3 * quiet + kNoiseNs) {
    warn(
        fmt::format("the host is busy: a request needs {} to the emulated disk in the median, {} "
                    "at best: times of the "
                    "disk will be off by as much",
                    format_duration(Nanos(median)), format_duration(Nanos(quiet))));
  }
  return quiet;
}

}  // namespace blksweep
