#include "disk/pacer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"

namespace blksweep {
namespace {

// Longer than nearly every wake-up from sleep takes.
constexpr std::int64_t kSpinNs = 60'000;

std::chrono::steady_clock::time_point at(std::int64_t ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Pacer::Pacer(Send send) : send_(std::move(send)), thread_([this] { run(); }) {}

Pacer::~Pacer() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    news_.fetch_add(1);
  }
  changed_.notify_all();
  thread_.join();
}

void Pacer::count(const DiskRequest& request) {
  const std::scoped_lock lock(mutex_);
  (request.write ? stats_.writes : stats_.reads) += 1;
  (request.write ? stats_.written_bytes : stats_.read_bytes) += request.bytes;
}

std::uint64_t Pacer::store(Job&& job) {
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::uint64_t slot = free_.back();
  free_.pop_back();
  slots_[slot].emplace(std::move(job));
  slots_[slot]->slot = slot;
  stats_.depth_max = std::max(stats_.depth_max, ++inside_);
  return slot;
}

void Pacer::submit(std::int64_t arrived_ns, Job&& job) {
  count(job.what);
  std::unique_lock lock(mutex_);
  if (!pacing_ || ending_) {
    lock.unlock();
    send_(job);
    return;
  }
  const DiskRequest what = job.what;
  const std::uint64_t slot = store(std::move(job));
  pacing_->arrive(arrived_ns, slot, what);
  wake_if_earlier();
}

void Pacer::wake_if_earlier() {
  const auto next = pacing_->next_reply();
  if (next && *next < waiting_until_) {
    waiting_until_ = *next;
    news_.fetch_add(1, std::memory_order_release);
    changed_.notify_one();
  }
}

void Pacer::set(std::unique_ptr<DiskModel> model, double speedup, std::int64_t path_ns) {
  std::unique_lock lock(mutex_);
  const std::int64_t now = now_ns();
  pacing_.reset();
  instant_.store(model == nullptr, std::memory_order_release);
  if (model == nullptr) {
    send_all(lock);
    return;
  }
  pacing_.emplace(std::move(model), PacingClock{now, speedup, path_ns});
  for (const auto& job : slots_) {
    if (job) {
      pacing_->arrive(now, job->slot, job->what);
    }
  }
  news_.fetch_add(1, std::memory_order_release);
  changed_.notify_all();
}

PacerStats Pacer::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

void Pacer::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const auto next = pacing_ ? pacing_->next_reply() : std::nullopt;
    const std::int64_t now = now_ns();
    if (next && *next <= now) {
      send_due(lock, now);
    } else {
      wait(lock, next.value_or(INT64_MAX));
    }
  }
  send_all(lock);
}

void Pacer::wait(std::unique_lock<std::mutex>& lock, std::int64_t until) {
  waiting_until_ = until;
  const std::uint64_t known = news_.load(std::memory_order_acquire);
  if (until == INT64_MAX) {
    changed_.wait(lock);
  } else if (until - now_ns() > kSpinNs) {
    changed_.wait_until(lock, at(until - kSpinNs));
  } else {
    lock.unlock();
    while (now_ns() < until && news_.load(std::memory_order_acquire) == known) {
      relax();
    }
    lock.lock();
  }
  waiting_until_ = 0;
}

// The lock is given up while replies are sent: requests go on arriving.
void Pacer::send_due(std::unique_lock<std::mutex>& lock, std::int64_t now) {
  due_.clear();
  ready_.clear();
  pacing_->take_due(now, due_);
  for (const DueReply& due : due_) {
    ready_.push_back(take(due.tag));
    stats_.latency_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, due.latency_ns)));
    stats_.latency_sum_ns += due.latency_ns;
  }
  lock.unlock();
  for (std::size_t i = 0; i < due_.size(); ++i) {
    due_[i].latency_ns = std::max<std::int64_t>(0, now_ns() - due_[i].reply_ns);  // lateness now
    send_(ready_[i]);
  }
  lock.lock();
  for (const DueReply& sent : due_) {
    stats_.lateness_ns.add(static_cast<std::uint64_t>(sent.latency_ns));
    stats_.lateness_sum_ns += sent.latency_ns;
  }
}

Job Pacer::take(std::uint64_t slot) {
  Job job = *std::move(slots_[slot]);
  slots_[slot].reset();
  free_.push_back(slot);
  --inside_;
  return job;
}

void Pacer::send_all(std::unique_lock<std::mutex>& lock) {
  std::vector<Job> jobs;
  for (std::uint64_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]) {
      jobs.push_back(take(slot));
    }
  }
  lock.unlock();
  for (Job& job : jobs) {
    send_(job);
  }
  lock.lock();
}

}  // namespace blksweep
