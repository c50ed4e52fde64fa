#include "os/memory/readahead_batch.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cassert>
#include <cerrno>
#include <utility>

#include "base/units.h"

namespace blksweep {

Result<ReadAheadBatch> ReadAheadBatch::make(std::size_t bytes, std::size_t runs) {
  ReadAheadBatch batch;
  const std::size_t size = bytes + 2 * runs * kPageBytes;
  void* region =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) {
    return sys_error(errno, "reserve address space for read-ahead");
  }
  batch.region_ = static_cast<std::byte*>(region);
  batch.size_ = size;
  return batch;
}

ReadAheadBatch::ReadAheadBatch(ReadAheadBatch&& o) noexcept
    : region_(std::exchange(o.region_, nullptr)), size_(o.size_), used_(o.used_) {}

ReadAheadBatch::~ReadAheadBatch() {
  if (region_ != nullptr) {
    ::munmap(region_, size_);
  }
}

void ReadAheadBatch::add(int fd, std::uint64_t offset, std::uint64_t length) {
  if (region_ == nullptr) {
    ::readahead(fd, static_cast<off_t>(offset), length);
    return;
  }
  const std::uint64_t begin = align_down(offset, kPageBytes);
  const std::size_t span = align_up(offset + length, kPageBytes) - begin;
  assert(used_ + span <= size_);
  // Takes the place of what lay there before.
  void* at = ::mmap(region_ + used_, span, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
                    static_cast<off_t>(begin));
  if (at == MAP_FAILED) {
    // There may be a hole now, which another thread's mapping may take at any moment: the address
    // space is not touched again, not even to give it back.
    ::madvise(region_, used_, MADV_WILLNEED);
    region_ = nullptr;
    ::readahead(fd, static_cast<off_t>(offset), length);
    return;
  }
  used_ += span;
}

void ReadAheadBatch::submit() {
  if (used_ == 0 || region_ == nullptr) {
    return;
  }
  ::madvise(region_, used_, MADV_WILLNEED);
  // Lets go of the files.
  const void* free_again = ::mmap(region_, used_, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (free_again == MAP_FAILED) {
    region_ = nullptr;  // as in add()
  }
  used_ = 0;
}

}  // namespace blksweep
