// Page-aligned anonymous memory, allocated once and reused: the window that reads land in.
//
// Ownership: move-only; unmapped by the destructor. Asks for transparent huge pages, so that
//            neighbouring pages are physically contiguous and the block layer needs fewer segments.
// Errors:    ENOMEM names the size asked for.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

class PageBuffer {
 public:
  PageBuffer() = default;
  // Touches every page, so that no page fault falls into the measured epoch.
  static Result<PageBuffer> allocate(Bytes size);
  PageBuffer(PageBuffer&& o) noexcept;
  PageBuffer& operator=(PageBuffer&& o) noexcept;
  ~PageBuffer();

  // Forgets the pages and leaves them mapped: for a process that they did not come along into.
  void release() { data_ = nullptr, size_ = 0; }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace blksweep
