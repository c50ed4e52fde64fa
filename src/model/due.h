// Due: requests whose completion time is known, earliest first.
//
// Equal times come out in the order they went in, so that the answer depends on the requests only.
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/disk_model.h"

namespace blksweep {

// The first whole nanosecond at which something is over. Times beyond 285 years end there.
inline std::int64_t whole_ns(double at) {
  return static_cast<std::int64_t>(std::ceil(std::min(at, 9e18)));
}

class Due {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  void add(double at, std::uint64_t tag) {
    heap_.push_back({{tag, whole_ns(at)}, order_++});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  std::optional<std::int64_t> next() const {
    return empty() ? std::nullopt : std::optional(heap_.front().done.at_ns);
  }
  // REQUIRES: not empty.
  DiskCompletion pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const DiskCompletion done = heap_.back().done;
    heap_.pop_back();
    return done;
  }

 private:
  struct Item {
    DiskCompletion done;
    std::uint64_t order = 0;
  };
  static bool later(const Item& a, const Item& b) {
    return a.done.at_ns != b.done.at_ns ? a.done.at_ns > b.done.at_ns : a.order > b.order;
  }
  std::vector<Item> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace blksweep
