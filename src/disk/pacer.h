// Pacer: one thread that gives each reply at the time that the model says.
//
// It sleeps until shortly before the next reply is due and spins the rest, because a wake-up from
// sleep may come 60 us late. How late replies were is counted: a run can be judged by it.
//
// Ownership: takes each Job until it was sent; `send` is called for each exactly once, from the
//            pacer's thread (from submit()'s or set()'s when there is no model). Every job is sent
//            before the destructor returns.
// Threads:   submit, set and stats from any thread; `send` must not call back into the Pacer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "disk/backing.h"
#include "disk/disk_stats.h"
#include "disk/pacing.h"

namespace blksweep {

struct Job {
  void* request = nullptr;  // the sender's: a fuse_req
  DiskRequest what;
  ReadPieces pieces;  // of a read
  std::uint64_t slot = 0;
};

class Pacer {
 public:
  using Send = std::function<void(Job&)>;
  explicit Pacer(Send send);
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;
  ~Pacer();

  // Whether there is no model: the caller may then reply by itself, after count().
  bool is_instant() const { return instant_.load(std::memory_order_acquire); }
  void count(const DiskRequest& request);
  void submit(std::int64_t arrived_ns, Job&& job);
  // A new model (nullptr: none). What is inside starts over in it.
  void set(std::unique_ptr<DiskModel> model, double speedup, std::int64_t path_ns);
  PacerStats stats() const;

 private:
  void run();
  void wait(std::unique_lock<std::mutex>& lock, std::int64_t until);
  void send_due(std::unique_lock<std::mutex>& lock, std::int64_t now);
  void send_all(std::unique_lock<std::mutex>& lock);
  std::uint64_t store(Job&& job);
  Job take(std::uint64_t slot);
  void wake_if_earlier();

  Send send_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Pacing> pacing_;
  std::vector<std::optional<Job>> slots_;  // by tag
  std::vector<std::uint64_t> free_;
  std::uint64_t inside_ = 0;
  std::int64_t waiting_until_ = 0;
  bool ending_ = false;
  PacerStats stats_;
  std::vector<DueReply> due_;  // of the thread's own, kept for their memory
  std::vector<Job> ready_;
  std::atomic<bool> instant_{true};
  std::atomic<std::uint64_t> news_{0};  // goes up when a spin must end early
  std::thread thread_;                  // last: it uses everything above
};

}  // namespace blksweep
