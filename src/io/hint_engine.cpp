#include "io/hint_engine.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "io/answered.h"
#include "io/plain_read.h"

namespace blksweep {
namespace {

// Tells ahead, on a thread of its own.
class Hinter {
 public:
  explicit Hinter(const EngineSettings& s)
      : call_(s.hint),
        half_(std::max<std::uint64_t>(1, s.hint_window / 2)),
        on_thread_(s.on_thread),
        reads_(*s.upcoming) {
    told_.reserve(most_in_half());  // nothing is allocated while reads go on
  }
  Hinter(const Hinter&) = delete;
  Hinter& operator=(const Hinter&) = delete;
  ~Hinter() {
    stop_.store(true);
    passed(0);
  }

  void start() {
    if (!thread_.joinable()) {
      thread_ = std::jthread([this] { run(); });
    }
  }
  // So many bytes of the reads are behind the reader now.
  void passed(std::uint64_t bytes) {
    passed_.fetch_add(bytes, std::memory_order_release);
    changes_.fetch_add(1, std::memory_order_release);
    changes_.notify_one();
  }
  std::uint64_t hinted_bytes() const { return hinted_.load(std::memory_order_relaxed); }
  int refused() const { return refused_.load(std::memory_order_relaxed); }  // an errno; 0: nothing

 private:
  using Read = UpcomingReads::Read;
  std::size_t end_of_half(std::size_t begin) const;
  std::size_t most_in_half() const;
  void run();
  bool wait_for_room();
  void tell_half(std::size_t begin, std::size_t end);
  int tell(int fd, const Read& r) const;

  const HintCall call_;
  const std::uint64_t half_;
  const std::function<void()> on_thread_;
  UpcomingReads& reads_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> passed_{0}, hinted_{0};
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<int> refused_{0};
  std::uint64_t given_ = 0;  // bytes of the reads gone through
  std::vector<Read> told_;   // of a half
  std::jthread thread_;      // ends before the rest goes
};

// One read at least, however long it is.
std::size_t Hinter::end_of_half(std::size_t begin) const {
  std::uint64_t bytes = 0;
  std::size_t end = begin;
  while (end < reads_.size() && (end == begin || bytes + reads_.at(end).length <= half_)) {
    bytes += reads_.at(end++).length;
  }
  return end;
}

std::size_t Hinter::most_in_half() const {
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < reads_.size();) {
    const std::size_t end = end_of_half(begin);
    most = std::max(most, end - begin);
    begin = end;
  }
  return most;
}

void Hinter::run() {
  if (on_thread_) {
    on_thread_();
  }
  for (std::size_t begin = 0; begin < reads_.size() && wait_for_room();) {
    const std::size_t end = end_of_half(begin);
    tell_half(begin, end);
    begin = end;
  }
}

// False: the engine ends.
bool Hinter::wait_for_room() {
  for (;;) {
    const std::uint32_t seen = changes_.load(std::memory_order_acquire);
    if (stop_.load()) {
      return false;
    }
    if (given_ <= passed_.load(std::memory_order_acquire) + half_) {
      return true;
    }
    changes_.wait(seen, std::memory_order_acquire);
  }
}

void Hinter::tell_half(std::size_t begin, std::size_t end) {
  told_.clear();
  for (std::size_t i = begin; i < end; ++i) {
    told_.push_back(reads_.at(i));
    given_ += told_.back().length;
  }
  std::ranges::sort(told_, {}, &Read::address);
  Fd fd;
  const Read* last = nullptr;
  for (const Read& r : told_) {
    if (stop_.load(std::memory_order_relaxed)) {
      return;
    }
    if (r.length == 0) {
      continue;
    }
    if (last == nullptr || last->file != r.file) {
      fd = reads_.open(r.file);
      last = &r;
    }
    if (!fd) {  // it will not be read either
      given_ -= r.length;
      continue;
    }
    if (const int error = tell(fd.get(), r); error == 0) {
      hinted_.fetch_add(r.length, std::memory_order_relaxed);
    } else {
      refused_.store(error, std::memory_order_relaxed);
    }
  }
}

// 0, or why the kernel did not take it.
int Hinter::tell(int fd, const Read& r) const {
  if (call_ == HintCall::readahead) {
    return ::readahead(fd, static_cast<off64_t>(r.offset), r.length) == 0 ? 0 : errno;
  }
  return ::posix_fadvise(fd, static_cast<off_t>(r.offset), r.length, POSIX_FADV_WILLNEED);
}

class HintEngine final : public Engine {
 public:
  explicit HintEngine(const EngineSettings& settings)
      : files_(settings.file_slots), done_(settings.depth) {
    facts_.name = to_string(EngineKind::hint);
    facts_.features = to_string(settings.hint);
    facts_.depth = 1;
    if (settings.upcoming != nullptr) {
      hinter_ = std::make_unique<Hinter>(settings);
    }
  }

  const EngineFacts& facts() const override { return facts_; }
  EngineCounts own_counts() const override {
    EngineCounts counts;
    counts.hinted_bytes = hinter_ ? hinter_->hinted_bytes() : 0;
    if (const int error = hinter_ ? hinter_->refused() : 0; error != 0) {
      counts.refused = sys_error(error, facts_.features).value().message();
    }
    return counts;
  }

  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override {
    std::ranges::swap_ranges(fds, std::span(files_).subspan(first_slot, fds.size()));
    return {};
  }

  Result<> submit(std::span<const ReadRequest> batch) override {
    if (hinter_) {
      hinter_->start();
    }
    for (const ReadRequest& r : batch) {
      const std::int32_t n = plain_read(files_[r.slot].get(), r);
      done_.add({r.tag, n});
      if (hinter_) {  // what failed is behind us, too
        hinter_->passed(n > 0 ? static_cast<std::uint64_t>(n) : bytes_of(r));
      }
    }
    return {};
  }

  Result<std::size_t> reap(std::span<Completion> out, std::size_t /*wait_for*/,
                           std::int64_t /*until*/) override {
    return done_.take(out);
  }

 private:
  std::vector<Fd> files_;
  Answered done_;
  EngineFacts facts_;
  std::unique_ptr<Hinter> hinter_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_hint_engine(const EngineSettings& settings) {
  return std::unique_ptr<Engine>(std::make_unique<HintEngine>(settings));
}

}  // namespace blksweep
