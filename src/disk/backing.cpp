#include "disk/backing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace blksweep {
namespace {

alignas(kPageBytes) constexpr std::array<std::byte, kMaxMessage> kZeros{};

}  // namespace

Result<std::unique_ptr<Backing>> Backing::memory(Bytes size) {
  Fd fd(::memfd_create("blksweep-disk", MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size.n)) != 0) {
    return sys_error(errno, "make a memory file of " + format_bytes(size));
  }
  std::unique_ptr<Backing> b(new Backing(std::move(fd), size));
  BLKSWEEP_CHECK(b->map());
  return b;
}

Result<std::unique_ptr<Backing>> Backing::file(const std::string& path, Bytes size) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) {
    return sys_error(errno, "open " + path);
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(path + " is in use by another emulated disk: give each its own backing file");
  }
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode) ||
      static_cast<std::uint64_t>(st.st_size) != size.n) {
    return fail(fmt::format("{} is not a regular file of {} bytes", path, size.n));
  }
  return std::unique_ptr<Backing>(new Backing(std::move(fd), size));
}

Result<> Backing::copy_of(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) {
    return sys_error(errno, "open " + path);
  }
  if (!S_ISREG(st.st_mode) || static_cast<std::uint64_t>(st.st_size) != size_) {
    return fail(fmt::format("{} is not a regular file of {} bytes", path, size_));
  }
  const auto storage = take_storage();
  off_t at = 0;
  while ((at = ::lseek(fd.get(), at, SEEK_DATA)) >= 0) {
    const off_t hole = ::lseek(fd.get(), at, SEEK_HOLE);
    while (at < hole) {
      const auto most = std::min<std::size_t>(kMaxMessage, static_cast<std::size_t>(hole - at));
      const ssize_t n = ::pread(fd.get(), storage.get(), most, at);
      if (n <= 0) {
        return sys_error(n < 0 ? errno : EIO, "read " + path);
      }
      if (const int e = write(static_cast<std::uint64_t>(at),
                              std::span(storage.get(), static_cast<std::size_t>(n)));
          e != 0) {
        return sys_error(e, "copy " + path + " into memory");
      }
      at += n;
    }
  }
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);  // it is in memory once, not twice
  return {};
}

Result<> Backing::map() {
  void* at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (at == MAP_FAILED) {
    return sys_error(errno, "map " + format_bytes(Bytes{size_}));
  }
  map_ = static_cast<std::byte*>(at);
  const std::uint64_t pages = (size_ + kPageBytes - 1) / kPageBytes;
  written_ = std::make_unique<std::atomic<std::uint64_t>[]>((pages + 63) / 64);
  return {};
}

Backing::~Backing() {
  if (map_ != nullptr) {
    ::munmap(map_, size_);
  }
}

bool Backing::is_removed() const {
  struct stat st {};
  return map_ == nullptr && ::fstat(fd_.get(), &st) == 0 && st.st_nlink == 0;
}

bool Backing::is(std::uint64_t device, std::uint64_t inode) const {
  struct stat st {};
  return ::fstat(fd_.get(), &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

int Backing::read(std::uint64_t offset, std::uint32_t length, ReadPieces& out) {
  out.iov.clear();
  if (map_ != nullptr) {
    memory_pieces(offset, length, out.iov);
    return 0;
  }
  return read_file(offset, length, out);
}

// Runs of pages that are all written or all not.
void Backing::memory_pieces(std::uint64_t offset, std::uint32_t length,
                            std::vector<iovec>& out) const {
  const std::uint64_t end = offset + length;
  while (offset < end) {
    const bool written = is_written(offset / kPageBytes);
    std::uint64_t to = std::min(end, (offset / kPageBytes + 1) * kPageBytes);
    while (to < end && is_written(to / kPageBytes) == written) {
      to = std::min<std::uint64_t>(end, to + kPageBytes);
    }
    const std::byte* from = written ? map_ + offset : kZeros.data();
    out.push_back({const_cast<std::byte*>(from), to - offset});  // writev does not write through it
    offset = to;
  }
}

int Backing::read_file(std::uint64_t offset, std::uint32_t length, ReadPieces& out) {
  if (!out.storage) {
    out.storage = take_storage();
  }
  std::uint32_t done = 0;
  while (done < length) {
    const ssize_t n = ::pread(fd_.get(), out.storage.get() + done, length - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno != EINTR) {
      return errno;
    }
    if (n == 0) {
      return EIO;  // the file was cut
    }
    done += n > 0 ? static_cast<std::uint32_t>(n) : 0;
  }
  out.iov.push_back({out.storage.get(), length});
  return 0;
}

int Backing::write(std::uint64_t offset, std::span<const std::byte> data) {
  const std::uint64_t begin = offset;
  while (!data.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset));
    if (n < 0 && errno != EINTR) {
      return errno;
    }
    const std::size_t wrote = n > 0 ? static_cast<std::size_t>(n) : 0;
    data = data.subspan(wrote);
    offset += wrote;
  }
  if (map_ != nullptr && offset > begin) {
    mark_written(begin / kPageBytes, (offset - 1) / kPageBytes, true);
  }
  return 0;
}

int Backing::punch(std::uint64_t offset, std::uint64_t length) {
  if (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(length)) != 0) {
    return errno;
  }
  const std::uint64_t first = (offset + kPageBytes - 1) / kPageBytes;
  const std::uint64_t end = (offset + length) / kPageBytes;
  if (map_ != nullptr && first < end) {
    mark_written(first, end - 1, false);
  }
  return 0;
}

int Backing::sync() { return map_ != nullptr || ::fdatasync(fd_.get()) == 0 ? 0 : errno; }

void Backing::mark_written(std::uint64_t first, std::uint64_t last, bool written) {
  for (std::uint64_t word = first / 64; word <= last / 64; ++word) {
    const std::uint64_t low = word == first / 64 ? first % 64 : 0;
    const std::uint64_t high = word == last / 64 ? last % 64 : 63;
    const std::uint64_t mask = (~std::uint64_t{0} << low) & (~std::uint64_t{0} >> (63 - high));
    if (written) {
      written_[word].fetch_or(mask, std::memory_order_release);
    } else {
      written_[word].fetch_and(~mask, std::memory_order_release);
    }
  }
}

std::unique_ptr<std::byte[]> Backing::take_storage() {
  {
    const std::scoped_lock lock(pool_mutex_);
    if (!pool_.empty()) {
      auto storage = std::move(pool_.back());
      pool_.pop_back();
      return storage;
    }
  }
  return std::make_unique_for_overwrite<std::byte[]>(kMaxMessage);
}

void Backing::give_back(ReadPieces&& pieces) {
  if (pieces.storage) {
    const std::scoped_lock lock(pool_mutex_);
    pool_.push_back(std::move(pieces.storage));
  }
}

}  // namespace blksweep
