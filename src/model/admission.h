// Admission: what is inside a device and what waits outside until there is room, with completions.
//
// A device takes at most `queue` requests; when one is done the oldest outside enters, at that very
// time. The models of flash and of a remote server share it.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "model/due.h"

namespace blksweep {

class Admission {
 public:
  struct Waiting {
    std::uint64_t tag;
    DiskRequest request;
  };

  explicit Admission(std::uint32_t queue) : queue_(queue) {}

  // True: it is inside now. False: it waits outside.
  bool admit(std::uint64_t tag, const DiskRequest& request) {
    if (inside_ < queue_) {
      ++inside_;
      return true;
    }
    outside_.push({tag, request});
    return false;
  }
  void finish(double at, std::uint64_t tag) { due_.add(at, tag); }
  std::optional<std::int64_t> next_finish() const { return due_.next(); }
  // Takes the earliest completion out; the request that enters in its place, if one waits.
  std::optional<Waiting> leave() {
    finished_.push_back(due_.pop());
    if (outside_.empty()) {
      --inside_;
      return std::nullopt;
    }
    return outside_.pop();
  }
  // The earliest completion that was not handed out.
  std::optional<std::int64_t> next() const {
    return finished_.empty() ? due_.next() : std::optional(finished_.front().at_ns);
  }
  void take(std::vector<DiskCompletion>& done) {
    done.insert(done.end(), finished_.begin(), finished_.end());
    finished_.clear();
  }

 private:
  std::uint32_t queue_;
  std::uint32_t inside_ = 0;
  Fifo<Waiting> outside_;
  Due due_;
  std::vector<DiskCompletion> finished_;
};

}  // namespace blksweep
