#include "loader/common_waits.h"

#include <algorithm>
#include <optional>

namespace blksweep {
namespace {

// What a worker does: 0 is reading (no wait is for no batch), kGone has ended, else it waits.
constexpr std::uint32_t kReading = 0, kGone = 0xFFFFFFFF;

struct Change {
  std::int64_t at;
  std::size_t worker;
  std::uint32_t to;
};

std::vector<Change> changes_of(std::span<const WorkerWaits> workers) {
  std::vector<Change> all;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    for (const MemoryWait& wait : workers[w].waits) {
      all.push_back({wait.span.begin, w, wait.consumed_batches});
      all.push_back({wait.span.end, w, kReading});
    }
    all.push_back({workers[w].ended, w, kGone});
  }
  std::ranges::stable_sort(all, {}, &Change::at);
  return all;
}

}  // namespace

std::vector<MemoryWait> common_waits(std::span<const WorkerWaits> workers) {
  std::vector<MemoryWait> out;
  std::vector<std::uint32_t> does(workers.size(), kReading);
  std::int64_t since = 0;
  for (const Change& change : changes_of(workers)) {
    const bool waiting = std::ranges::find(does, kReading) == does.end();
    const std::uint32_t least = *std::ranges::min_element(does);
    if (waiting && least != kGone && change.at > since) {
      out.push_back({{since, change.at}, least});
    }
    does[change.worker] = change.to;
    since = change.at;
  }
  return out;
}

}  // namespace blksweep
