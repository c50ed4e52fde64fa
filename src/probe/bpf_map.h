// A BPF array map that is mapped into this process: read and reset without system calls.
//
// Ownership: move-only; unmapped by the destructor. The map itself belongs to its skeleton.
// Errors:    mmap(2) failing names the map.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace blksweep {

template <class T>
class MappedArray {
 public:
  MappedArray() = default;
  static Result<MappedArray> map(int map_fd, std::size_t entries, bool writable) {
    const int rights = PROT_READ | (writable ? PROT_WRITE : 0);
    void* at = ::mmap(nullptr, entries * sizeof(T), rights, MAP_SHARED, map_fd, 0);
    if (at == MAP_FAILED) {
      return sys_error(errno,
                       "block probe: mmap a BPF map of " + std::to_string(entries) + " entries");
    }
    MappedArray m;
    m.items_ = {static_cast<T*>(at), entries};
    return m;
  }
  MappedArray(MappedArray&& o) noexcept : items_(std::exchange(o.items_, {})) {}
  MappedArray& operator=(MappedArray&& o) noexcept {
    std::swap(items_, o.items_);
    return *this;
  }
  ~MappedArray() {
    if (!items_.empty()) {
      ::munmap(items_.data(), items_.size_bytes());
    }
  }

  std::span<const T> items() const { return items_; }
  // REQUIRES: it was mapped writable.
  std::span<T> writable() { return items_; }
  void clear() { std::memset(items_.data(), 0, items_.size_bytes()); }

 private:
  std::span<T> items_;
};

}  // namespace blksweep
