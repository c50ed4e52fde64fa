// FixedDelay: each request takes the same time, whatever else is inside. For calibration and tests.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "model/disk_model.h"

namespace blksweep {

class FixedDelay : public DiskModel {
 public:
  explicit FixedDelay(std::int64_t ns) : ns_(ns) {}

  void arrive(std::int64_t now, std::uint64_t tag, const DiskRequest& /*request*/) override {
    inside_.push_back({tag, now + ns_});
  }
  std::optional<std::int64_t> next() const override {
    return inside_.empty() ? std::nullopt : std::optional(inside_.front().at_ns);
  }
  void advance(std::int64_t now, std::vector<DiskCompletion>& done) override {
    while (!inside_.empty() && inside_.front().at_ns <= now) {
      done.push_back(inside_.front());
      inside_.pop_front();
    }
  }

 private:
  std::int64_t ns_;
  std::deque<DiskCompletion> inside_;  // by arrival, and so by time
};

}  // namespace blksweep
