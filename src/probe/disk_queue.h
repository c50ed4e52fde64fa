// What the probe has to know of a disk's queue before and after: tags, requests in flight.
//
// Source:  /sys/block/<disk>/mq/*/nr_tags, queue/nr_requests, queue/iostats, inflight, stat,
//          diskseq.
// Errors:  a disk without a multi-queue request queue (device mapper, md, zram) is
//          Exit::unsupported: its requests are those of the disks beneath it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "os/block/blockdev.h"
#include "probe/probe_math.h"

namespace blksweep {

struct DiskQueue {
  std::uint32_t hw_queues = 1;
  std::uint32_t slot_bits = 10;  // 2^slot_bits slots per hardware queue, with room to grow
  bool iostats = true;           // false: /sys/block/*/stat stands still
};

// With room for `requests` (nr_requests to come), or for what the disk has now where that is more.
Result<DiskQueue> disk_queue(const std::string& disk, std::uint32_t requests = 0);
Result<InFlight> in_flight(const std::string& disk);
// Another one for each disk that has the name after another (since Linux 5.15; "": not known).
std::string disk_sequence(const std::string& disk);

// What the kernel says itself. Read right beside the moment in which counting begins or ends.
struct KernelCounts {
  InFlight in_flight;
  DiskStat stat;
};
Result<KernelCounts> kernel_counts(const std::string& disk);

// What `look` (kernel_counts() of the slots' disk) says once nothing has ended there that the slots
// still have, or after 10 ms. A request leaves the kernel's books before the probe is told that it
// is done: that is no lost completion.
Result<KernelCounts> counts_that_agree(std::span<const blk_probe_slot> slots,
                                       const std::function<Result<KernelCounts>()>& look);

}  // namespace blksweep
