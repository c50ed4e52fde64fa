#include "node/cache/warm.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "dataset/data_files.h"
#include "os/file/fiemap.h"
#include "os/file/written_ranges.h"
#include "os/memory/readahead_batch.h"
#include "os/memory/residency.h"

namespace blksweep {
namespace {

// readahead(2) cuts a request at the larger of read_ahead_kb and max_sectors_kb, silently. The
// usual defaults allow this much; where they do not, the rest is read the ordinary way.
constexpr std::uint64_t kPieceBytes = std::uint64_t{512} << 10;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kLookThreads = 8;  // each waits for one inode block at a time
constexpr std::size_t kBatch = 64;       // pieces that a thread takes and asks for at once
constexpr std::size_t kInFlight = 128;   // pieces per thread
constexpr std::size_t kGrab = 16;        // inodes that a thread takes at once
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

void add_pieces(WarmPiece run, std::vector<WarmPiece>& out) {
  for (std::uint64_t done = 0; done < run.length; done += kPieceBytes) {
    const std::uint64_t address = run.address == kNowhere ? kNowhere : run.address + done;
    out.push_back({address, run.offset + done, std::min(kPieceBytes, run.length - done), run.file});
  }
}

void sort_by_address(std::vector<WarmPiece>& pieces) {
  std::ranges::stable_sort(pieces, {}, &WarmPiece::address);
}

void add_extents(const Fd& fd, std::uint32_t file, ExtentReader& reader,
                 std::vector<WarmPiece>& out) {
  struct stat st {};
  const std::uint64_t size =
      ::fstat(fd.get(), &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
  if (size == 0) {
    return;
  }
  if (reader.read(fd.get()) != 0) {
    for (const ByteRange& data : data_of_file(fd, {0, size})) {
      add_pieces({kNowhere, data.begin, data.bytes(), file}, out);
    }
    return;
  }
  for (const fiemap_extent& e : reader.extents()) {
    // What is unwritten is zeros, as a hole is, and no device is asked for either.
    if (e.fe_logical < size && (e.fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0) {
      const bool placed = (e.fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DATA_INLINE)) == 0;
      add_pieces({placed ? e.fe_physical : kNowhere, e.fe_logical,
                  std::min(e.fe_length, size - e.fe_logical), file},
                 out);
    }
  }
}

// One thread's part: pieces under way, oldest first.
class Warmer {
 public:
  Warmer(const WarmJob& job, std::atomic<std::size_t>& next, const std::atomic<bool>& stop,
         std::atomic<std::uint64_t>& at, ReadAheadBatch batch)
      : job_(job), next_(next), stop_(stop), at_(at), batch_(std::move(batch)) {}

  void run() {
    for (std::size_t begin = 0; (begin = next_.fetch_add(kBatch)) < job_.pieces.size();) {
      const std::size_t end = std::min(begin + kBatch, job_.pieces.size());
      for (std::size_t p = begin; p < end && !stopped(); ++p) {
        start(job_.pieces[p]);
      }
      batch_.submit();
      while (under_way_.size() > kInFlight - kBatch && !stopped()) {
        finish_oldest();
      }
    }
    while (!under_way_.empty() && !stopped()) {
      finish_oldest();
    }
  }

  std::uint64_t failed = 0;
  std::string first_error;

 private:
  struct UnderWay {
    std::shared_ptr<const Fd> fd;  // shared by neighbouring pieces of one file
    const WarmPiece* piece;
  };

  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  void fail_with(int error, const char* what, const WarmPiece& p) {
    if (failed++ == 0) {
      first_error = std::string(what) + job_.path(p.file) + ": " + std::strerror(error);
    }
  }

  void start(const WarmPiece& p) {
    if (last_ == nullptr || last_file_ != p.file) {
      last_ = std::make_shared<const Fd>(job_.open(p.file, scratch_));
      last_file_ = p.file;
    }
    if (!*last_) {
      fail_with(errno, "open ", p);
      last_.reset();
      return;
    }
    batch_.add(last_->get(), p.offset, p.length);
    under_way_.push_back({last_, &p});
  }

  // Its last byte has arrived; whether all did, the kernel tells.
  void finish_oldest() {
    const UnderWay u = std::move(under_way_.front());
    under_way_.pop_front();
    const WarmPiece& p = *u.piece;
    char byte = 0;
    if (::pread(u.fd->get(), &byte, 1, static_cast<off_t>(p.offset + p.length - 1)) < 0) {
      fail_with(errno, "read ", p);
      return;
    }
    const std::uint64_t begin = align_down(p.offset, kPageBytes);
    const auto r = residency_of(u.fd->get(), FileRange{begin, p.offset + p.length - begin});
    if (r && r->resident_pages < r->pages) {
      read_through(u.fd->get(), p);
    }
    at_.fetch_add(p.length, std::memory_order_relaxed);
  }

  void read_through(int fd, const WarmPiece& p) {
    for (std::uint64_t done = 0; done < p.length;) {
      const std::size_t length = std::min<std::uint64_t>(p.length - done, sink_.size());
      const ssize_t n = ::pread(fd, sink_.data(), length, static_cast<off_t>(p.offset + done));
      if (n < 0 && errno != EINTR) {
        fail_with(errno, "read ", p);
        return;
      }
      if (n == 0) {
        return;  // truncated meanwhile
      }
      done += n > 0 ? static_cast<std::uint64_t>(n) : 0;
    }
  }

  const WarmJob& job_;
  std::atomic<std::size_t>& next_;
  const std::atomic<bool>& stop_;
  std::atomic<std::uint64_t>& at_;
  std::deque<UnderWay> under_way_;
  ReadAheadBatch batch_;
  std::shared_ptr<const Fd> last_;
  std::uint32_t last_file_ = 0;
  std::string scratch_;
  std::array<char, std::size_t{64} << 10> sink_{};
};

}  // namespace

WarmJob warm_job(const FileSet& files, const std::atomic<bool>& stop,
                 std::atomic<std::uint64_t>& at) {
  WarmJob job;
  job.open = [&files](std::size_t i, std::string& scratch) { return files.open(i, scratch); };
  job.path = [&files](std::size_t i) { return files.path(i); };
  ExtentReader reader;
  std::string scratch;
  for (std::uint32_t i = 0; i < files.size() && !stop.load(); ++i) {
    if (const Fd fd(files.open(i, scratch)); fd) {
      add_extents(fd, i, reader, job.pieces);
    } else {
      add_pieces({kNowhere, 0, 1, i}, job.pieces);  // fails again in its turn, and is counted there
    }
    at.fetch_add(1, std::memory_order_relaxed);
  }
  sort_by_address(job.pieces);
  return job;
}

WarmJob warm_job(const Catalog& catalog) {
  WarmJob job;
  const auto data = std::make_shared<const Result<DataFiles>>(DataFiles::open_root(catalog));
  job.open = [data](std::size_t i, std::string& scratch) {
    const int fd =
        *data ? (**data).open(static_cast<std::uint32_t>(i), 0, scratch) : -data->error().sys_errno;
    errno = fd < 0 ? -fd : 0;
    return std::max(fd, -1);
  };
  job.path = [&catalog](std::size_t i) { return catalog.full_path(static_cast<std::uint32_t>(i)); };
  for (std::uint32_t f = 0; f < catalog.files.size(); ++f) {
    std::uint64_t at = 0;
    for (const ExtentRecord& e : catalog.extents_of(f)) {
      if (e.file_offset > at) {
        add_pieces({kNowhere, at, e.file_offset - at, f}, job.pieces);  // a hole
      }
      add_pieces({e.has_address() ? e.device_offset : kNowhere, e.file_offset, e.length, f},
                 job.pieces);
      at = e.file_end();
    }
    if (catalog.files[f].size > at) {
      add_pieces({kNowhere, at, catalog.files[f].size - at, f}, job.pieces);
    }
  }
  sort_by_address(job.pieces);
  return job;
}

WarmOutcome warm_pieces(const WarmJob& job, const std::atomic<bool>& stop,
                        std::atomic<std::uint64_t>& at) {
  WarmOutcome out;
  for (const WarmPiece& p : job.pieces) {
    out.bytes += p.length;
  }
  const std::int64_t begin = now_ns();
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // of `out`
  const auto work = [&] {
    Result<ReadAheadBatch> batch = ReadAheadBatch::make(kBatch * kPieceBytes, kBatch);
    if (!batch) {
      const std::lock_guard lock(mutex);
      out.failed += 1;
      out.first_error = batch.error().text;
      return;
    }
    const auto warmer = std::make_unique<Warmer>(job, next, stop, at, *std::move(batch));
    warmer->run();
    const std::lock_guard lock(mutex);
    out.failed += warmer->failed;
    if (out.first_error.empty()) {
      out.first_error = std::move(warmer->first_error);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back(work);
    }
  }
  out.ns = now_ns() - begin;
  out.interrupted = stop.load();
  return out;
}

WarmOutcome look_up(const FileSet& files, const std::atomic<bool>& stop,
                    std::atomic<std::uint64_t>& at) {
  WarmOutcome out;
  const std::int64_t begin = now_ns();
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // of `out`
  const auto work = [&] {
    std::string scratch;
    for (std::size_t first = 0; (first = next.fetch_add(kGrab)) < files.size();) {
      const std::size_t end = std::min(first + kGrab, files.size());
      for (std::size_t i = first; i < end && !stop.load(std::memory_order_relaxed); ++i) {
        if (files.look(i, scratch) != 0) {
          const int error = errno;
          const std::lock_guard lock(mutex);
          if (out.failed++ == 0) {
            out.first_error = "stat " + files.path(i) + ": " + std::strerror(error);
          }
        }
        at.fetch_add(1, std::memory_order_relaxed);
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kLookThreads; ++t) {
      threads.emplace_back(work);
    }
  }
  out.ns = now_ns() - begin;
  out.interrupted = stop.load();
  return out;
}

}  // namespace blksweep
