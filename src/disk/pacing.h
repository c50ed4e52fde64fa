// Pacing: a device model on the real clock, as arithmetic without threads or waiting.
//
// One virtual clock runs `speedup` times as fast as the real one, so that everything in the model
// (rotation, too) scales together. The way between the reader and the daemon (loop and FUSE, tens
// of microseconds) would be added to the modelled time: an arrival is dated back by half of it, and
// the reply is given half of it early.
//
// Units:   real times are nanoseconds of the caller's clock; `latency_ns` is virtual.
// Order:   the model's clock goes on to an event's own time, never to the time at which the caller
//          came to look, so lateness of the caller is not added up. Only an arrival that is dated
//          back behind an event that was handed out already is moved up to that event.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/disk_model.h"

namespace blksweep {

struct PacingClock {
  std::int64_t start_ns = 0;  // real time of virtual 0
  double speedup = 1;         // > 0
  std::int64_t path_ns = 0;   // real
};

struct DueReply {
  std::uint64_t tag = 0;
  std::int64_t reply_ns = 0;    // real: when to reply
  std::int64_t latency_ns = 0;  // virtual: completion - arrival in the model
};

class Pacing {
 public:
  Pacing(std::unique_ptr<DiskModel> model, const PacingClock& clock);

  // `tag` must not be inside. REQUIRES what DiskModel::arrive does.
  void arrive(std::int64_t real_ns, std::uint64_t tag, const DiskRequest& request);
  // Real time of the next reply; nothing inside: nullopt.
  std::optional<std::int64_t> next_reply() const;
  // Appends what is to be replied by `real_ns`.
  void take_due(std::int64_t real_ns, std::vector<DueReply>& out);

 private:
  std::int64_t to_virtual(std::int64_t real_ns) const;
  std::int64_t reply_at(std::int64_t virtual_ns) const;

  std::unique_ptr<DiskModel> model_;
  PacingClock clock_;
  std::int64_t model_now_ = 0;  // virtual
  std::unordered_map<std::uint64_t, std::int64_t> arrived_;
  std::vector<DiskCompletion> done_;
};

}  // namespace blksweep
