// FixedLatencyModel: a device with channels, each busy for the same time per request (plus a time
// per byte); the longest-waiting request gets the next free channel. And it writes down what it
// got.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/disk_model.h"

namespace blksweep::support {

class FixedLatencyModel final : public DiskModel {
 public:
  struct Arrival {
    std::int64_t at;
    DiskRequest request;
  };
  std::vector<Arrival> arrivals;
  std::size_t most_inside = 0;

  FixedLatencyModel(std::int64_t latency_ns, std::size_t channels, double ns_per_byte = 0)
      : latency_(latency_ns), per_byte_(ns_per_byte), free_at_(channels) {}

  void arrive(std::int64_t now, std::uint64_t tag, const DiskRequest& request) override {
    arrivals.push_back({now, request});
    auto& channel = *std::ranges::min_element(free_at_);
    channel = std::max(now, channel) + latency_ +
              static_cast<std::int64_t>(per_byte_ * static_cast<double>(request.bytes));
    inside_.emplace(channel, tag);
    most_inside = std::max(most_inside, inside_.size());
  }
  std::optional<std::int64_t> next() const override {
    return inside_.empty() ? std::nullopt : std::optional(inside_.begin()->first);
  }
  void advance(std::int64_t now, std::vector<DiskCompletion>& done) override {
    while (!inside_.empty() && inside_.begin()->first <= now) {
      done.push_back({inside_.begin()->second, inside_.begin()->first});
      inside_.erase(inside_.begin());
    }
  }

 private:
  std::int64_t latency_;
  double per_byte_;
  std::vector<std::int64_t> free_at_;
  std::multimap<std::int64_t, std::uint64_t> inside_;
};

}  // namespace blksweep::support
