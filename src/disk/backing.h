// Backing: where the bytes of an emulated disk are; memory (a memfd) or a sparse file.
//
// Reads of memory copy nothing: they give pieces of the mapping. What was never written gives a
// page of zeros, so that reading a hole allocates nothing.
//
// Units:     bytes; ranges lie inside the size (REQUIRES).
// Ownership: pieces of memory live as long as the Backing; pieces of a file point into `storage`.
// Errors:    errno values (ENOSPC, EIO ...): they go to the kernel as they are.
// Threads:   read, write, punch and sync from any thread.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace blksweep {

inline constexpr std::uint32_t kMaxMessage = std::uint32_t{1} << 20;  // of one FUSE request

struct ReadPieces {
  std::vector<iovec> iov;
  std::unique_ptr<std::byte[]> storage;  // kMaxMessage bytes, from the pool
};

class Backing {
 public:
  static Result<std::unique_ptr<Backing>> memory(Bytes size);
  // An existing file of exactly that size; locked (flock) against a second disk on it.
  static Result<std::unique_ptr<Backing>> file(const std::string& path, Bytes size);
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;
  ~Backing();

  // Writes what the file holds; its holes stay holes. Of a file of this size.
  Result<> copy_of(const std::string& path);

  std::uint64_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  bool is_memory() const { return map_ != nullptr; }
  bool is_removed() const;  // the file has no name any more
  // Whether it is that file, whatever its name leads to now.
  bool is(std::uint64_t device, std::uint64_t inode) const;

  // `length` <= kMaxMessage. 0 or an errno.
  int read(std::uint64_t offset, std::uint32_t length, ReadPieces& out);
  void give_back(ReadPieces&& pieces);
  int write(std::uint64_t offset, std::span<const std::byte> data);
  int punch(std::uint64_t offset, std::uint64_t length);  // reads as zeros afterwards
  int sync();

 private:
  Backing(Fd fd, Bytes size) : fd_(std::move(fd)), size_(size.n) {}
  Result<> map();
  void memory_pieces(std::uint64_t offset, std::uint32_t length, std::vector<iovec>& out) const;
  int read_file(std::uint64_t offset, std::uint32_t length, ReadPieces& out);
  bool is_written(std::uint64_t page) const {
    return (written_[page / 64].load(std::memory_order_acquire) >> (page % 64) & 1) != 0;
  }
  void mark_written(std::uint64_t first, std::uint64_t last, bool written);
  std::unique_ptr<std::byte[]> take_storage();

  Fd fd_;
  std::uint64_t size_;
  std::byte* map_ = nullptr;                               // memory only
  std::unique_ptr<std::atomic<std::uint64_t>[]> written_;  // a bit for each page of memory
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<std::byte[]>> pool_;
};

}  // namespace blksweep
