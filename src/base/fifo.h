// Fifo: a first-in first-out queue in one vector; no allocation once it has its size.
//
// Cost:    amortised constant: what was taken is cut off when it is more than half.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace blksweep {

template <class T>
class Fifo {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::size_t size() const { return items_.size() - head_; }
  void push(T item) { items_.push_back(std::move(item)); }
  // REQUIRES: not empty.
  const T& front() const { return items_[head_]; }
  T pop() {
    T item = std::move(items_[head_++]);
    if (head_ * 2 > items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return item;
  }

 private:
  std::vector<T> items_;
  std::size_t head_ = 0;
};

}  // namespace blksweep
