// What an engine that has no queue below it answered already, until it is asked for.
//
// Order:   as answered.
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "io/engine.h"

namespace blksweep {

class Answered {
 public:
  explicit Answered(unsigned depth) { done_.reserve(depth); }
  void add(const Completion& completion) { done_.push_back(completion); }
  // As many as there is room for.
  std::size_t take(std::span<Completion> out) {
    const std::size_t n = std::min(out.size(), done_.size());
    std::copy_n(done_.begin(), n, out.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(n));
    return n;
  }

 private:
  std::vector<Completion> done_;
};

}  // namespace blksweep
