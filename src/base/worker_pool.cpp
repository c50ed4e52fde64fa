#include "base/worker_pool.h"

#include <algorithm>
#include <system_error>

namespace blksweep {

WorkerPool::WorkerPool(unsigned threads, std::function<void()> on_start)
    : on_start_(std::move(on_start)) {
  threads_.reserve(std::max(1U, threads));
  try {
    for (unsigned i = 0; i < std::max(1U, threads); ++i) {
      threads_.emplace_back([this, i] { work(i); });
    }
  } catch (const std::system_error&) {
    if (threads_.empty()) {
      throw;
    }
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& t : threads_) {
    t.join();
  }
}

void WorkerPool::run(std::size_t count, const Task& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  busy_ = threads();
  ++round_;
  begin_.notify_all();
  end_.wait(lock, [this] { return busy_ == 0; });
  task_ = nullptr;
}

void WorkerPool::work(unsigned worker) {
  if (on_start_) {
    on_start_();
  }
  std::unique_lock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    begin_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) {
      return;
    }
    seen = round_;
    const Task& task = *task_;
    const std::size_t count = count_;
    lock.unlock();
    for (std::size_t i = 0; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count;) {
      task(worker, i);
    }
    lock.lock();
    if (--busy_ == 0) {
      end_.notify_one();
    }
  }
}

}  // namespace blksweep
