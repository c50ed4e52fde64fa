#include "loader/worker_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>

#include "base/clock.h"
#include "loader/common_waits.h"
#include "loader/file_slots.h"
#include "plan/batch_slots.h"

namespace blksweep {

class WorkerReader::Worker {
 public:
  Worker(WorkerReader& reader, std::uint32_t index)
      : all_(reader), in_(reader.in_), index_(index) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    begin_.stop();
    join();
  }

  // The ring belongs to the thread that makes it.
  Result<> start() {
    std::promise<Result<>> prepared;
    std::future<Result<>> made = prepared.get_future();
    thread_ = std::thread([this, p = std::move(prepared)]() mutable { live(std::move(p)); });
    return made.get();
  }
  void begin(const std::atomic<bool>& stop) {
    stop_ = &stop;
    begin_.publish(1);
  }
  // Waits until so many of its batches are done; false: it ended before.
  bool wait_for(std::uint32_t batches) const { return done_.wait_for(batches); }
  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  // After join().
  const std::optional<Error>& broken() const { return broken_; }
  const ReadCounts& counts() const { return counts_; }
  const LogHistogram& latency() const { return latency_; }
  const WorkerWaits& waits() const { return waits_; }
  const EngineFacts& facts() const { return facts_; }

 private:
  void live(std::promise<Result<>> prepared);
  Result<> work(BatchSource& source, ReadLoop& loop);
  bool wait_for_slot(std::uint32_t batch);
  Result<> read(std::uint32_t batch, BatchSource& source, ReadLoop& loop);
  unsigned depth() const {
    return in_.scope == ReadScope::batch ? std::max(1U, in_.schedule.largest_batch()) : 1U;
  }

  WorkerReader& all_;
  const WorkerInputs& in_;
  const std::uint32_t index_;
  Counter begin_, done_;
  const std::atomic<bool>* stop_ = nullptr;
  std::optional<Error> broken_;
  ReadCounts counts_;
  LogHistogram latency_;
  WorkerWaits waits_;
  EngineFacts facts_;
  std::thread thread_;
};

void WorkerReader::Worker::live(std::promise<Result<>> prepared) {
  take_place(in_.place, Role::reader);
  const EngineKind kind = in_.scope == ReadScope::batch ? EngineKind::io_uring : EngineKind::psync;
  Result<std::unique_ptr<Engine>> engine = make_engine(
      kind, {.depth = depth(), .file_slots = depth(), .registers_files = false, .arena = {}});
  if (!engine) {
    prepared.set_value(tl::unexpected(engine.error()));
    return;
  }
  facts_ = (*engine)->facts();
  BatchSource source({.catalog = in_.catalog,
                      .plan = in_.plan,
                      .schedule = in_.schedule,
                      .data = all_.data_,
                      .arena = in_.arena,
                      .handoff = in_.handoff,
                      .scope = in_.scope,
                      .decode_cpu = in_.decode_cpu,
                      .direct = in_.direct},
                     **engine, depth());
  ReadLoop loop(source, **engine, host_clock(), {.depth = depth(), .align = in_.align});
  waits_.waits.reserve(in_.schedule.batches() / in_.workers + 1);
  prepared.set_value({});
  if (!begin_.wait_for(1)) {
    return;
  }
  if (const Result<> worked = work(source, loop); !worked) {
    broken_ = worked.error();
    in_.handoff.request_stop();
  }
  counts_ = loop.counts();
  latency_ = source.latency();
  waits_.ended = now_ns();
  done_.stop();
}

Result<> WorkerReader::Worker::work(BatchSource& source, ReadLoop& loop) {
  std::uint32_t done = 0;
  for (std::uint32_t b = index_; b < in_.schedule.batches(); b += in_.workers) {
    if (!wait_for_slot(b)) {
      break;
    }
    BLKSWEEP_CHECK(read(b, source, loop));
    if (in_.handoff.stopping() || stop_->load()) {
      break;  // it may have ended in the middle
    }
    done_.publish(++done);
  }
  return {};
}

bool WorkerReader::Worker::wait_for_slot(std::uint32_t batch) {
  const std::uint32_t needed = consumed_before(batch, in_.slots);
  if (in_.handoff.consumed.value() < needed) {
    const std::int64_t begin = now_ns();
    in_.handoff.consumed.wait_for(needed);
    waits_.waits.push_back({{begin, now_ns()}, needed});
  }
  return !in_.handoff.stopping() && !stop_->load();
}

Result<> WorkerReader::Worker::read(std::uint32_t batch, BatchSource& source, ReadLoop& loop) {
  ReadBatch& result = all_.batches_[batch];
  source.begin(all_.reads_[batch], all_.reads_[batch + 1]);
  result.span.begin = now_ns();
  BLKSWEEP_CHECK(loop.run(stop_));
  BLKSWEEP_CHECK(source.finish());
  result.span.end = now_ns();
  result.failures = source.failures();
  return {};
}

WorkerReader::WorkerReader(const WorkerInputs& in, DataFiles data)
    : in_(in),
      data_(std::move(data)),
      reads_(reads_by_batch(in.plan, in.schedule)),
      readiness_(in.plan, in.schedule, in.handoff),
      batches_(in.schedule.batches()) {}

WorkerReader::~WorkerReader() = default;

Result<std::unique_ptr<WorkerReader>> WorkerReader::make(const WorkerInputs& in) {
  const std::uint64_t each = in.scope == ReadScope::batch ? in.schedule.largest_batch() + 1 : 1;
  if (const std::uint64_t left = descriptors_left(); left < each * in.workers) {
    return fail(
        fmt::format("{} workers open {} files, RLIMIT_NOFILE leaves {} descriptors: raise "
                    "it (ulimit -n), or use fewer workers or a smaller --batch",
                    in.workers, each * in.workers, left));
  }
  BLKSWEEP_TRY(DataFiles data, DataFiles::open_same_root(in.catalog));
  std::unique_ptr<WorkerReader> reader(new WorkerReader(in, std::move(data)));
  BLKSWEEP_CHECK(reader->start());
  return reader;
}

Result<> WorkerReader::start() {
  for (std::uint32_t w = 0; w < in_.workers; ++w) {
    workers_.push_back(std::make_unique<Worker>(*this, w));
    BLKSWEEP_CHECK(workers_.back()->start());
  }
  facts_ = workers_.front()->facts();
  facts_.depth *= in_.workers;
  return {};
}

Result<> WorkerReader::run(const std::atomic<bool>& stop) {
  for (const auto& worker : workers_) {
    worker->begin(stop);
  }
  for (std::uint32_t b = 0; b < batches_.size(); ++b) {
    if (!workers_[b % in_.workers]->wait_for(b / in_.workers + 1)) {
      break;
    }
    settle(b);
  }
  for (const auto& worker : workers_) {
    worker->join();
  }
  collect();
  for (const auto& worker : workers_) {
    if (worker->broken()) {
      return tl::unexpected(*worker->broken());
    }
  }
  return {};
}

// As if its reads had come one by one: what failed is marked, the rest is complete.
void WorkerReader::settle(std::uint32_t batch) {
  ReadBatch& result = batches_[batch];
  std::ranges::sort(result.failures, {}, &FailedRead::read);
  auto failed = result.failures.begin();
  for (std::uint32_t r = reads_[batch]; r < reads_[batch + 1]; ++r) {
    const PieceRange range{r, in_.plan.first_piece[r], in_.plan.first_piece[r + 1]};
    readiness_.submitted(range, result.span.begin);
    if (failed != result.failures.end() && failed->read == r) {
      readiness_.fail(range, failed++->error, result.span.end);
    } else {
      readiness_.complete(range, result.span.end);
    }
  }
  if (readiness_.publish(result.span.end) && in_.on_ready) {
    in_.on_ready();
  }
}

void WorkerReader::collect() {
  std::vector<WorkerWaits> waits;
  for (const auto& worker : workers_) {
    const ReadCounts& c = worker->counts();
    counts_.submitted += c.submitted;
    counts_.submitted_bytes += c.submitted_bytes;
    counts_.short_reads += c.short_reads;
    counts_.io_errors += c.io_errors;
    for (const auto& [lower, count] : worker->latency().buckets()) {
      latency_.add(lower, count);
    }
    waits.push_back(worker->waits());
  }
  waits_ = common_waits(waits);
}

}  // namespace blksweep
