#include "simulate/simulate_epoch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_range.h"
#include "loader/plan_source.h"

namespace blksweep {
namespace {

constexpr double kMostUnknown = 0.01;  // share of the bytes

// io_uring plugs a submission of more than this many entries (io_uring/io_uring.c:
// IO_PLUG_THRESHOLD).
constexpr std::size_t kPlugThreshold = 2;

// Where reads lie on the whole disk.
class Addresses {
 public:
  explicit Addresses(const Catalog& catalog) : catalog_(catalog) {}

  // Of a request with slots as SimSource has them. Valid until the next call.
  std::span<const DiskRange> of(const ReadRequest& r) {
    ranges_.clear();
    if (r.slot == 0) {
      ranges_.push_back({catalog_.partition_start + r.offset, r.iov->iov_len});
    } else {
      of_file(r.slot - 1, {r.offset, r.offset + r.iov->iov_len});
    }
    return ranges_;
  }
  std::uint64_t unknown_bytes() const { return unknown_; }

 private:
  // Holes and unwritten extents are filled by the filesystem; what is behind the end is not read.
  void of_file(std::uint32_t file, ByteRange read) {
    const std::uint64_t size =
        align_up(catalog_.files[file].size, std::max(1U, catalog_.block_bytes));
    const std::uint64_t end = std::min(read.end, size);
    for (const ExtentRecord& e : catalog_.extents_from(file, read.begin)) {
      if (e.file_offset >= end) {
        break;
      }
      const std::uint64_t from = std::max(read.begin, e.file_offset);
      const std::uint64_t bytes = std::min(end, e.file_end()) - from;
      if (e.on_device()) {
        const std::uint64_t at = e.device_offset + (from - e.file_offset);
        ranges_.push_back({catalog_.partition_start + at, bytes});
      } else if ((e.flags & kExtentUnwritten) == 0) {
        unknown_ += bytes;
      }
    }
  }

  const Catalog& catalog_;
  std::vector<DiskRange> ranges_;
  std::uint64_t unknown_ = 0;
};

// Takes ready batches in order. Without a consumer they are consumed as soon as they are seen.
class SimConsumer {
 public:
  SimConsumer(const SimulationInputs& in, Handoff& handoff)
      : schedule_(in.planned.schedule),
        handoff_(handoff),
        compute_(in.settings.consumer == ConsumerKind::none ? std::nullopt
                                                            : std::optional(in.settings.compute)),
        seed_(in.seed) {
    at_.reserve(schedule_.batches());
  }

  void ready(std::uint32_t published, std::int64_t now) {
    while (at_.size() < published) {
      const std::int64_t begin = std::max(now, at_.empty() ? 0 : at_.back());
      const auto batch = static_cast<std::uint32_t>(at_.size());
      const std::uint32_t samples = schedule_.batch_begin[batch + 1] - schedule_.batch_begin[batch];
      const Nanos takes = compute_ ? compute_->of_batch(batch, samples, seed_) : Nanos{0};
      busy_ += takes.count();
      at_.push_back(begin + takes.count());
    }
    advance(now);
  }
  // Gives back what is consumed by `now`, which never goes back.
  void advance(std::int64_t now) {
    const std::uint32_t before = consumed_;
    while (consumed_ < at_.size() && at_[consumed_] <= now) {
      ++consumed_;
    }
    if (consumed_ > before) {
      handoff_.consumed.publish(consumed_);
    }
  }
  // When `batches` are consumed; nullopt: not all of them are ready.
  std::optional<std::int64_t> when(std::uint32_t batches) const {
    return batches <= at_.size() ? std::optional(at_[batches - 1]) : std::nullopt;
  }
  std::int64_t end() const { return at_.empty() ? 0 : at_.back(); }
  std::int64_t busy() const { return busy_; }
  bool exists() const { return compute_.has_value(); }

 private:
  const Schedule& schedule_;
  Handoff& handoff_;
  std::optional<ComputeTime> compute_;
  std::uint64_t seed_;
  std::vector<std::int64_t> at_;  // batch -> consumed
  std::uint32_t consumed_ = 0;
  std::int64_t busy_ = 0;
};

// The host's time, which passes only when somebody waits or computes. The consumer goes along.
class SimClock final : public Clock {
 public:
  explicit SimClock(SimConsumer& consumer) : consumer_(consumer) {}
  std::int64_t now() override { return now_; }
  void wait_until(std::int64_t when) override {
    now_ = std::max(now_, when);
    consumer_.advance(now_);
  }

 private:
  SimConsumer& consumer_;
  std::int64_t now_ = 0;
};

// The modelled disk as an engine: what is submitted completes in virtual time.
class ModelEngine final : public Engine {
 public:
  ModelEngine(const SimulationInputs& in, SimClock& clock)
      : host_cost_(in.device.host_cost.count()),
        one_by_one_(!traits_of(in.settings.engine).queues),
        clock_(clock),
        addresses_(in.catalog),
        queue_(in.model, in.device, in.settings.depth),
        bytes_(in.settings.depth) {
    done_.reserve(in.settings.depth);
  }
  const EngineFacts& facts() const override { return facts_; }
  Result<> set_files(std::uint32_t /*first_slot*/, std::span<Fd> /*fds*/) override { return {}; }
  Result<> submit(std::span<const ReadRequest> batch) override;
  Result<std::size_t> reap(std::span<Completion> out, std::size_t wait_for,
                           std::int64_t until) override;

  const SimCounts& counts() const { return queue_.counts(); }
  std::uint64_t unknown_bytes() const { return addresses_.unknown_bytes(); }

 private:
  Result<> wait_for(std::size_t reads, std::int64_t until);

  const std::int64_t host_cost_;
  const bool one_by_one_;
  SimClock& clock_;
  Addresses addresses_;
  SimQueue queue_;
  std::vector<std::uint32_t> bytes_;  // by tag
  std::vector<std::uint32_t> done_;   // tags, not reaped yet
  EngineFacts facts_{"model", "", "", 0};
};

// A submission of few entries is not plugged, and pread(2) returns when its bytes are there.
Result<> ModelEngine::submit(std::span<const ReadRequest> batch) {
  const bool plugged = !one_by_one_ && batch.size() > kPlugThreshold;
  for (const ReadRequest& r : batch) {
    bytes_[r.tag] = static_cast<std::uint32_t>(r.iov->iov_len);
    clock_.wait_until(clock_.now() + host_cost_);
    queue_.add(clock_.now(), r.tag, addresses_.of(r));
    if (!plugged) {
      queue_.flush(clock_.now());
    }
    if (one_by_one_) {
      BLKSWEEP_CHECK(wait_for(done_.size() + 1, kForever));
    }
  }
  queue_.flush(clock_.now());
  return {};
}

Result<> ModelEngine::wait_for(std::size_t reads, std::int64_t until) {
  queue_.advance(clock_.now(), done_);
  while (done_.size() < reads && clock_.now() < until) {
    const auto at = queue_.next();
    if (!at) {
      return fail("simulate: the model lost a request");
    }
    clock_.wait_until(std::min(*at, until));
    queue_.advance(clock_.now(), done_);
  }
  return {};
}

Result<std::size_t> ModelEngine::reap(std::span<Completion> out, std::size_t reads,
                                      std::int64_t until) {
  BLKSWEEP_CHECK(wait_for(reads, until));
  const std::size_t n = std::min(out.size(), done_.size());
  std::transform(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(n), out.begin(),
                 [this](std::uint32_t tag) {
                   return Completion{tag, static_cast<std::int32_t>(bytes_[tag])};
                 });
  done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(n));
  return n;
}

// The reader of a run, without bytes and memory.
class SimSource final : public PlanSource {
 public:
  SimSource(const SimulationInputs& in, Handoff& handoff, SimConsumer& consumer, SimClock& clock)
      : PlanSource(in.catalog, in.planned.plan, in.planned.schedule, handoff, clock,
                   in.settings.depth),
        plan_(in.planned.plan),
        consumer_(consumer),
        clock_(clock),
        iov_(in.settings.depth) {}

 private:
  // Slot 0 is the device, as in a run; the others are the files themselves.
  ReadAim aim(std::uint32_t tag, std::uint32_t done) override {
    const std::uint32_t source = plan_.reads[range_of(tag).read].source;
    iov_[tag] = {nullptr, wanted_of(range_of(tag)).length - done};
    return {source == kFromDevice ? 0 : static_cast<int>(source) + 1, {&iov_[tag], 1}};
  }
  void zero(const PieceRange& /*range*/) override {}
  Result<> until_consumed(std::uint32_t batches) override {
    const auto at = consumer_.when(batches);
    if (!at) {
      return blksweep::fail("simulate: a gate of the schedule waits for reads behind it");
    }
    clock_.wait_until(*at);
    return {};
  }
  void published() override { consumer_.ready(readiness().published(), clock_.now()); }

  const Plan& plan_;
  SimConsumer& consumer_;
  SimClock& clock_;
  std::vector<iovec> iov_;
};

Result<> check_inputs(const SimulationInputs& in) {
  if (!in.settings.direct && opens_files(in.planned.plan)) {
    return usage_error(
        "buffered reads are not predicted (the page cache has no model): use --direct");
  }
  if (const Bytes least = least_device(in.catalog); in.device.size < least) {
    return usage_error(fmt::format("--size {}: the catalog has data up to {} on its disk",
                                   format_bytes(in.device.size), format_bytes(least)));
  }
  return {};
}

Result<> check_known(const Prediction& p) {
  const double unknown = static_cast<double>(p.unknown_bytes);
  if (unknown > kMostUnknown * static_cast<double>(p.read_bytes)) {
    return fail(
        fmt::format("{} of {} to read have no known place on the disk (inline, compressed or "
                    "unmapped extents): this data set cannot be predicted",
                    format_bytes({p.unknown_bytes}), format_bytes({p.read_bytes})));
  }
  return {};
}

}  // namespace

Maybe<double> Prediction::depth_mean() const {
  return device.busy_ns > 0 ? Maybe<double>(device.inside_ns / static_cast<double>(device.busy_ns))
                            : Maybe<double>();
}

Bytes least_device(const Catalog& catalog) {
  std::uint64_t end = 0;
  for (const ExtentRecord& e : catalog.extents) {
    if (e.has_address()) {
      end = std::max(end, e.device_offset + e.length);
    }
  }
  return {catalog.partition_start + end};
}

Result<Prediction> predict(const SimulationInputs& in) {
  BLKSWEEP_CHECK(check_inputs(in));
  const Plan& plan = in.planned.plan;
  Handoff handoff;
  SimConsumer consumer(in, handoff);
  SimClock clock(consumer);
  ModelEngine engine(in, clock);
  SimSource source(in, handoff, consumer, clock);
  ReadLoop loop(source, engine, clock,
                {in.settings.depth, refill_of(in.settings), plan.submit_batch});
  BLKSWEEP_CHECK(loop.run(nullptr));
  Prediction p;
  p.epoch_ns = std::max(clock.now(), consumer.end());
  if (source.readiness().published() > 0) {
    p.first_batch_ns = handoff.times.front()[Stage::read]->end;
  }
  p.samples = plan.order.size();
  p.bytes = in.catalog.bytes().n * plan.epochs;
  p.reads = loop.counts().submitted;
  p.read_bytes = loop.counts().submitted_bytes;
  p.unknown_bytes = engine.unknown_bytes();
  if (consumer.exists() && p.epoch_ns > 0) {
    p.utilisation = static_cast<double>(consumer.busy()) / static_cast<double>(p.epoch_ns);
  }
  p.device = engine.counts();
  BLKSWEEP_CHECK(check_known(p));
  return p;
}

}  // namespace blksweep
