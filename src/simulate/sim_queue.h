// SimQueue: the block layer and a modelled device below it, in virtual time.
//
// Reads that are submitted together meet in a plug as the kernel's do (block/blk-mq.c:
// blk_attempt_plug_merge, blk_add_rq_to_plug): a piece joins only the newest request, at either
// end; the plug empties when it holds 32 requests, or when another one comes after one of 128 KiB.
// What leaves the plug reaches the model in order, one request at a time.
//
// Not modelled: merging in an I/O scheduler, its own order, and a queue shorter than the depth.
// Units:   nanoseconds from 0 of the host's clock; the model's clock runs `speedup` times as fast.
//          Addresses are bytes on the whole disk.
// Time:    `now` never goes back.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/disk_model.h"
#include "stats/histogram.h"

namespace blksweep {

struct SimDevice {
  Bytes size{0};                         // of the whole disk
  std::uint32_t max_request = 1U << 20;  // bytes: max_sectors_kb
  std::uint32_t max_segments = 128;      // reads that one request may hold
  double speedup = 1;                    // of the model's clock against the host's
  Nanos host_cost{0};                    // of submitting one read, on the reader's thread
};

struct DiskRange {
  std::uint64_t begin;
  std::uint64_t bytes;
};

struct SimCounts {
  std::uint64_t requests = 0, bytes = 0, merged = 0;
  std::uint64_t seeks = 0;   // requests that do not begin where the one before ended
  double seek_bytes = 0;     // sum of |distance| over them
  double inside_ns = 0;      // sum of the times that requests spent in the device
  std::int64_t busy_ns = 0;  // time with at least one request inside
  LogHistogram latency;      // of requests, ns of the host's clock
};

class SimQueue {
 public:
  // `reads`: most that are in flight at once; they are numbered below that.
  SimQueue(DiskModel& model, const SimDevice& device, std::uint32_t reads);

  // Hands over a read; without a range it is done at once. It may stay in the plug until flush().
  void add(std::int64_t now, std::uint32_t read, std::span<const DiskRange> ranges);
  void flush(std::int64_t now);
  // When the next request will be done; none inside: nullopt.
  std::optional<std::int64_t> next() const;
  // Appends the reads that are complete at `now`.
  void advance(std::int64_t now, std::vector<std::uint32_t>& done);

  const SimCounts& counts() const { return counts_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Part {  // a read has a share in a request
    std::uint32_t read;
    std::uint32_t next;
  };
  struct Request {
    std::uint64_t begin = 0, end = 0;
    std::int64_t arrived = 0;
    std::uint32_t parts = kNone;
    std::uint32_t segments = 0;
  };

  void add_piece(std::int64_t now, std::uint32_t read, const DiskRange& piece);
  bool join_newest(std::uint32_t read, const DiskRange& piece);
  void share(Request& request, std::uint32_t read);
  void arrive(std::int64_t now, std::uint32_t index);
  void finish(const DiskCompletion& done);
  std::int64_t to_model(std::int64_t host) const;
  std::int64_t to_host(std::int64_t model) const;

  DiskModel& model_;
  const SimDevice device_;
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_requests_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> free_parts_;
  std::vector<std::uint32_t> plug_;     // requests that have not left yet
  std::vector<std::uint32_t> pending_;  // read -> requests it waits for
  std::vector<std::uint32_t> finished_;
  std::vector<DiskCompletion> completions_;
  std::int64_t model_now_ = 0;
  std::int64_t busy_since_ = 0;
  std::uint64_t head_ = 0;  // where the last request ended
  std::uint64_t inside_ = 0;
  SimCounts counts_;
};

}  // namespace blksweep
