#include "probe/disk_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

std::uint32_t number_in(const fs::path& path, std::uint32_t otherwise) {
  std::uint32_t n = 0;
  std::ifstream in(path);
  return in >> n ? n : otherwise;
}

// The disks that a mapper or an array is made of, as blksweep probe takes them.
std::string beneath(const fs::path& slaves) {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& slave : fs::directory_iterator(slaves, ec)) {
    names.push_back(slave.path().filename().string());
  }
  std::ranges::sort(names);
  return names.empty() ? "a disk that has"
                       : fmt::format("what it lies on: {}", joined(names, ", "));
}

}  // namespace

Result<DiskQueue> disk_queue(const std::string& disk, std::uint32_t requests) {
  const fs::path sys = "/sys/block/" + disk;
  DiskQueue q{.hw_queues = 0};
  std::uint32_t tags = std::max(requests, number_in(sys / "queue/nr_requests", 128));
  std::error_code ec;
  for (const auto& queue : fs::directory_iterator(sys / "mq", ec)) {
    ++q.hw_queues;
    tags = std::max(tags, number_in(queue.path() / "nr_tags", 0));
  }
  if (q.hw_queues == 0) {
    return unsupported("block probe: " + disk +
                       " has no requests of its own (device mapper, md, zram ...): probe " +
                       beneath(sys / "slaves"));
  }
  q.slot_bits = slot_bits_for(tags);
  q.iostats = number_in(sys / "queue/iostats", 1) != 0;
  return q;
}

Result<InFlight> in_flight(const std::string& disk) {
  const std::string path = "/sys/block/" + disk + "/inflight";
  std::ifstream in(path);
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  if (!(in >> reads >> writes)) {
    return fail("read " + path + ": not two numbers (has the disk gone?)");
  }
  return InFlight{.reads = reads, .all = reads + writes};
}

std::string disk_sequence(const std::string& disk) {
  return first_line("/sys/block/" + disk + "/diskseq");
}

Result<KernelCounts> kernel_counts(const std::string& disk) {
  KernelCounts c;
  BLKSWEEP_TRY(c.in_flight, in_flight(disk));
  BLKSWEEP_TRY(c.stat, disk_stat(disk));
  return c;
}

Result<KernelCounts> counts_that_agree(std::span<const blk_probe_slot> slots,
                                       const std::function<Result<KernelCounts>()>& look) {
  Result<KernelCounts> counts = look();
  for (int i = 0; i < 20 && counts; ++i) {
    if (settle(slots, counts->in_flight, now_ns()).healed == 0) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    counts = look();
  }
  return counts;
}

}  // namespace blksweep
