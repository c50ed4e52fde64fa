// WorkerPool: a number of threads that share out the items of one piece of work at a time.
//
// Threads:   run() from one thread, which sleeps meanwhile; `task` is called on the pool's threads,
//            with the thread's number (0 .. threads-1) and the item's. Items are taken in order.
//            `on_start` is called once by each thread before its first item (to bind itself).
// Ownership: `task` and what it refers to must live until run() returns, no longer.
// Errors:    none; a task keeps its own. Where not all threads can be started (pids.max), those
//            that can do the work: threads() says how many. Where none can, std::system_error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace blksweep {

class WorkerPool {
 public:
  using Task = std::function<void(unsigned worker, std::size_t item)>;

  explicit WorkerPool(unsigned threads, std::function<void()> on_start = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Returns when all items below `count` are done.
  void run(std::size_t count, const Task& task);
  unsigned threads() const { return static_cast<unsigned>(threads_.size()); }

 private:
  void work(unsigned worker);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const Task* task_ = nullptr;  // of the round; the mutex guards it and what follows
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  unsigned busy_ = 0;  // threads that have not finished the round
  bool stop_ = false;
  std::atomic<std::size_t> next_{0};
  std::function<void()> on_start_;
  std::vector<std::thread> threads_;
};

}  // namespace blksweep
