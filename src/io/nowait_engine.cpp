#include "io/nowait_engine.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "io/answered.h"
#include "io/plain_read.h"

namespace blksweep {
namespace {

constexpr unsigned kMostThreads = 128;

class NowaitEngine final : public Engine {
 public:
  explicit NowaitEngine(const EngineSettings& settings)
      : on_thread_(settings.on_thread),
        files_(settings.file_slots),
        waiting_in_(settings.file_slots),
        jobs_(settings.depth),
        done_(settings.depth) {
    facts_.name = to_string(EngineKind::nowait);
    facts_.depth = std::min(settings.depth, kMostThreads);
  }
  NowaitEngine(const NowaitEngine&) = delete;
  NowaitEngine& operator=(const NowaitEngine&) = delete;
  ~NowaitEngine() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    to_do_.notify_all();
    threads_.clear();  // they carry out what is left
  }

  const EngineFacts& facts() const override { return facts_; }
  EngineCounts own_counts() const override {
    EngineCounts counts;
    counts.answered_at_once = at_once_;
    return counts;
  }
  Result<> start();

  Result<> set_files(std::uint32_t first_slot, std::span<Fd> fds) override;
  Result<> submit(std::span<const ReadRequest> batch) override;
  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t until) override;

 private:
  void work();
  bool answer(const ReadRequest& r);

  const std::function<void()> on_thread_;
  std::vector<Fd> files_;  // by the owner
  std::uint64_t at_once_ = 0;

  std::mutex mutex_;
  std::condition_variable to_do_, progress_;
  bool ends_ = false;
  std::vector<std::uint32_t> waiting_in_;  // reads in the pool, by slot
  std::vector<ReadRequest> jobs_;          // a ring
  std::size_t taken_ = 0, given_ = 0;      // of jobs_, counted on
  std::size_t in_pool_ = 0, ready_ = 0;
  Answered done_;
  EngineFacts facts_;
  std::vector<std::jthread> threads_;  // end before the rest goes
};

Result<> NowaitEngine::start() {
  try {
    for (unsigned i = 0; i < facts_.depth; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (const std::system_error& e) {
    if (threads_.empty()) {
      return sys_error(e.code().value(), "--engine nowait: a thread");
    }
    facts_.depth = static_cast<unsigned>(threads_.size());
  }
  facts_.features = "RWF_NOWAIT, " + std::to_string(facts_.depth) + " threads";
  return {};
}

void NowaitEngine::work() {
  if (on_thread_) {
    on_thread_();
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    to_do_.wait(lock, [this] { return ends_ || taken_ < given_; });
    if (taken_ == given_) {
      return;
    }
    const ReadRequest r = jobs_[taken_++ % jobs_.size()];
    const int fd = files_[r.slot].get();
    lock.unlock();
    const std::int32_t result = plain_read(fd, r);
    lock.lock();
    done_.add({r.tag, result});
    ++ready_;
    --in_pool_;
    --waiting_in_[r.slot];
    progress_.notify_all();
  }
}

// The owner alone fills slots, and none that the pool reads from.
Result<> NowaitEngine::set_files(std::uint32_t first_slot, std::span<Fd> fds) {
  std::unique_lock lock(mutex_);
  const auto begin = waiting_in_.begin() + first_slot;
  progress_.wait(lock, [&] {
    return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(fds.size()),
                       [](std::uint32_t waiting) { return waiting == 0; });
  });
  std::ranges::swap_ranges(fds, std::span(files_).subspan(first_slot, fds.size()));
  return {};
}

// True: what came is the answer.
bool NowaitEngine::answer(const ReadRequest& r) {
  if (r.write) {
    return false;
  }
  const std::int32_t n = plain_read(files_[r.slot].get(), r, RWF_NOWAIT);
  if (n == -EOPNOTSUPP && facts_.refused.empty()) {
    facts_.refused = std::string("RWF_NOWAIT: ") + std::strerror(EOPNOTSUPP);
  }
  if (n < 0 || static_cast<std::uint64_t>(n) < bytes_of(r)) {
    return false;
  }
  ++at_once_;
  const std::lock_guard lock(mutex_);
  done_.add({r.tag, n});
  ++ready_;
  return true;
}

Result<> NowaitEngine::submit(std::span<const ReadRequest> batch) {
  for (const ReadRequest& r : batch) {
    if (answer(r)) {
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      jobs_[given_++ % jobs_.size()] = r;
      ++in_pool_;
      ++waiting_in_[r.slot];
    }
    to_do_.notify_one();
  }
  return {};
}

Result<std::size_t> NowaitEngine::reap(std::span<Completion> out, std::size_t wait_for,
                                       std::int64_t until) {
  std::unique_lock lock(mutex_);
  const std::size_t want = std::min({wait_for, out.size(), in_pool_ + ready_});
  const auto enough = [&] { return ready_ >= want; };
  if (until == kForever) {
    progress_.wait(lock, enough);
  } else {
    progress_.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(0, until - now_ns())),
                       enough);
  }
  const std::size_t n = done_.take(out);
  ready_ -= n;
  return n;
}

}  // namespace

Result<std::unique_ptr<Engine>> make_nowait_engine(const EngineSettings& settings) {
  auto engine = std::make_unique<NowaitEngine>(settings);
  BLKSWEEP_CHECK(engine->start());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace blksweep
