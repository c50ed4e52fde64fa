// The stand-in's memory: the GPU's, which the host cannot touch, and the host's that is pinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace standin {

struct Range {
  std::uintptr_t begin = 0, end = 0;

  bool overlaps(const Range& o) const { return begin < o.end && o.begin < end; }
  bool holds(const Range& o) const { return begin <= o.begin && o.end <= end; }
};
Range range_of(const void* p, std::size_t bytes);

// Whether all its pages are there, without touching them.
bool mapped(const Range& range);

// Addresses that no host code may follow; the bytes lie elsewhere.
class DeviceMemory {
 public:
  // 0: there is not so much.
  std::uintptr_t allocate(std::size_t bytes, std::size_t capacity);
  bool free(std::uintptr_t begin);
  // Where the bytes of a range lie that is within one allocation; nullptr: it is not.
  std::byte* bytes_of(const Range& range) const;
  Range allocation(std::uintptr_t begin) const;
  std::size_t used() const { return used_; }
  std::size_t count() const { return all_.size(); }

 private:
  struct Allocation {
    std::size_t bytes, mapped;
    std::byte* shadow;
  };
  std::map<std::uintptr_t, Allocation> all_;
  std::size_t used_ = 0;
};

enum class Pin { registered, allocated };

class PinnedRanges {
 public:
  bool overlaps(const Range& range) const;
  void add(const Range& range, Pin how) { all_[range.begin] = {range, how}; }
  // Whether one of them holds the whole range.
  bool holds(const Range& range) const;
  // The one that begins there and came to be so; an empty one: there is none.
  Range find(const void* begin, Pin how) const;
  void remove(const Range& range) { all_.erase(range.begin); }
  std::size_t count() const { return all_.size(); }

 private:
  struct Pinned {
    Range range;
    Pin how;
  };
  std::map<std::uintptr_t, Pinned> all_;
};

}  // namespace standin
