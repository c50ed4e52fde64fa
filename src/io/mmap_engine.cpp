#include "io/mmap_engine.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "io/answered.h"
#include "io/mapped_copy.h"
#include "io/plain_read.h"

namespace blksweep {
namespace {

constexpr unsigned kMostCuts = 8;  // a file that is cut off again and again while it is read

// A file and its mapping, which may be none: of an empty file, or where it was refused.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(Fd fd) : fd_(std::move(fd)) {
    size_ = size_now();
    if (size_ == 0) {
      return;
    }
    void* at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_.get(), 0);
    error_ = at == MAP_FAILED ? errno : 0;
    data_ = at == MAP_FAILED ? nullptr : static_cast<const std::byte*>(at);
  }
  MappedFile(MappedFile&& o) noexcept
      : fd_(std::move(o.fd_)),
        data_(std::exchange(o.data_, nullptr)),
        size_(std::exchange(o.size_, 0)),
        error_(o.error_) {}
  MappedFile& operator=(MappedFile&& o) noexcept {
    std::swap(fd_, o.fd_);
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(error_, o.error_);
    return *this;
  }
  ~MappedFile() {
    if (data_ != nullptr) {
      ::munmap(begin(), size_);
    }
  }

  // false: errno says why not.
  bool advise(int advice) const {
    return data_ == nullptr || ::madvise(begin(), size_, advice) == 0;
  }

  // As preadv(2). Pages behind the new end of a file that was cut off fail, but what is left of its
  // last page is zeros: the size is asked for after each copy.
  std::int32_t read(const ReadRequest& r) const {
    if (error_ != 0) {
      return -error_;
    }
    std::uint64_t wanted = until_end(r, size_);
    for (unsigned cuts = 0; cuts < kMostCuts; ++cuts) {
      const bool copied = copy(r, wanted);
      const std::uint64_t there = std::min(wanted, until_end(r, size_now()));
      if (copied && there == wanted) {
        return static_cast<std::int32_t>(wanted);
      }
      if (!copied && there == wanted) {
        return -EIO;
      }
      wanted = there;
    }
    return -EIO;
  }

 private:
  void* begin() const { return const_cast<std::byte*>(data_); }  // NOLINT: as munmap wants it
  std::uint64_t size_now() const {
    struct stat s {};
    return fd_ && ::fstat(fd_.get(), &s) == 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
  }
  static std::uint64_t until_end(const ReadRequest& r, std::uint64_t size) {
    return std::min(bytes_of(r), size - std::min(size, r.offset));
  }
  bool copy(const ReadRequest& r, std::uint64_t bytes) const {
    const std::byte* from = data_ + r.offset;
    for (const iovec* to = r.iov; bytes > 0; ++to) {
      const std::size_t n = std::min<std::uint64_t>(to->iov_len, bytes);
      if (!MappedCopies::copy(to->iov_base, from, n)) {
        return false;
      }
      from += n;
      bytes -= n;
    }
    return true;
  }

  Fd fd_;
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  int error_ = 0;  // of mmap(2)
};

int advice_of(MapAdvice advice) {
  constexpr std::array kAdvice{MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED};
  return kAdvice[static_cast<std::size_t>(advice)];
}

class MmapEngine final : public Engine {
 public:
  explicit MmapEngine(const EngineSettings& settings)
      : advice_(settings.advice), files_(settings.file_slots), done_(settings.depth) {
    facts_.name = to_string(EngineKind::mmap);
    facts_.features = "madvise " + std::string(to_string(advice_));
    facts_.depth = 1;
  }

  const EngineFacts& facts() const override { return facts_; }
  EngineCounts own_counts() const override {
    EngineCounts counts;
    counts.minor_faults = minor_;
    counts.major_faults = major_;
    return counts;
  }

  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    for (Fd& fd : fds) {
      MappedFile& file = files_[first_slot++];
      file = MappedFile(std::move(fd));
      if (advice_ != MapAdvice::normal && !file.advise(advice_of(advice_)) &&
          facts_.refused.empty()) {
        facts_.refused = facts_.features + ": " + std::strerror(errno);
      }
    }
    return {};
  }

  Result<> submit(std::span<const ReadRequest> batch) override {
    rusage before{};
    rusage after{};
    ::getrusage(RUSAGE_THREAD, &before);
    for (const ReadRequest& r : batch) {
      done_.add({r.tag, r.write ? -EOPNOTSUPP : files_[r.slot].read(r)});
    }
    ::getrusage(RUSAGE_THREAD, &after);
    minor_ += static_cast<std::uint64_t>(after.ru_minflt - before.ru_minflt);
    major_ += static_cast<std::uint64_t>(after.ru_majflt - before.ru_majflt);
    return {};
  }

  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    return done_.take(out);
  }

 private:
  const MapAdvice advice_;
  const MappedCopies copies_;
  std::vector<MappedFile> files_;
  std::uint64_t minor_ = 0, major_ = 0;
  Answered done_;
  EngineFacts facts_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_mmap_engine(const EngineSettings& settings) {
  return std::unique_ptr<Engine>(std::make_unique<MmapEngine>(settings));
}

}  // namespace blksweep
