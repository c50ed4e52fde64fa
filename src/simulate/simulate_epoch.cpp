#include "simulate/simulate_epoch.h"

#include <fmt/format.h>

#include <algorithm>

#include "loader/reader.h"

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

  // Valid until the next call.
  std::span<const DiskRange> of(const Read& read) {
    ranges_.clear();
    if (read.source == kFromDevice) {
      ranges_.push_back({catalog_.partition_start + read.offset, read.length});
    } else if (read.source != kZeros) {
      of_file(read);
    }
    return ranges_;
  }
  std::uint64_t unknown_bytes() const { return unknown_; }

 private:
  // Holes and unwritten extents are filled by the filesystem; what is behind the end is not read.
  void of_file(const Read& read) {
    const std::uint64_t size =
        align_up(catalog_.files[read.source].size, std::max(1U, catalog_.block_bytes));
    const std::uint64_t end = std::min(read.offset + read.length, size);
    const auto all = catalog_.extents_of(read.source);
    auto e = std::ranges::upper_bound(all, read.offset, {}, &ExtentRecord::file_end);
    for (; e != all.end() && e->file_offset < end; ++e) {
      const std::uint64_t from = std::max(read.offset, e->file_offset);
      const std::uint64_t bytes = std::min(end, e->file_end()) - from;
      if (e->on_device()) {
        const std::uint64_t at = e->device_offset + (from - e->file_offset);
        ranges_.push_back({catalog_.partition_start + at, bytes});
      } else if ((e->flags & kExtentUnwritten) == 0) {
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
  SimConsumer(const SimulationInputs& in, std::size_t batches)
      : schedule_(in.planned.schedule),
        compute_(in.settings.consumer == ConsumerKind::none ? std::nullopt
                                                            : std::optional(in.settings.compute)),
        seed_(in.seed) {
    at_.reserve(batches);
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
  }
  // Batches consumed by `now`, which never goes back.
  std::uint32_t consumed(std::int64_t now) {
    while (consumed_ < at_.size() && at_[consumed_] <= now) {
      ++consumed_;
    }
    return consumed_;
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
  std::optional<ComputeTime> compute_;
  std::uint64_t seed_;
  std::vector<std::int64_t> at_;  // batch -> consumed
  std::uint32_t consumed_ = 0;
  std::int64_t busy_ = 0;
};

// Functions have the names of those of Reader that they mirror.
class SimReader {
 public:
  explicit SimReader(const SimulationInputs& in)
      : in_(in),
        plan_(in.planned.plan),
        schedule_(in.planned.schedule),
        depth_(in.settings.depth),
        readiness_(plan_, schedule_, handoff_),
        addresses_(in.catalog),
        consumer_(in, schedule_.batches()),
        queue_(in.model, in.device, depth_),
        range_of_(depth_) {
    for (std::uint32_t tag = depth_; tag > 0; --tag) {
      free_tags_.push_back(tag - 1);
    }
    group_.reserve(depth_);
  }

  Result<> run();
  Prediction prediction() const;

 private:
  bool gate_open();
  std::uint32_t group_limit() const;
  void fill();
  void take(std::uint32_t read);
  void submit_group();
  void submit_one_by_one();
  void submit_plugged();
  std::size_t refill_target() const;
  Result<> wait_for(std::size_t reads);
  Result<> drain();
  void publish();
  std::uint32_t in_flight() const { return depth_ - static_cast<std::uint32_t>(free_tags_.size()); }
  bool reads_left() const { return next_read_ < plan_.reads.size(); }
  std::span<const DiskRange> ranges(std::uint32_t tag) {
    return addresses_.of(plan_.reads[range_of_[tag].read]);
  }

  const SimulationInputs& in_;
  const Plan& plan_;
  const Schedule& schedule_;
  const std::uint32_t depth_;
  Handoff handoff_;
  Readiness readiness_;
  Addresses addresses_;
  SimConsumer consumer_;
  SimQueue queue_;
  std::vector<PieceRange> range_of_;  // tag -> the read in flight
  std::vector<std::uint32_t> free_tags_;
  std::vector<std::uint32_t> group_;      // tags
  std::vector<std::uint32_t> completed_;  // tags, seen by the device, not yet by the reader
  std::int64_t now_ = 0;
  std::uint32_t next_read_ = 0;
  std::size_t next_gate_ = 0;
  std::uint64_t reads_ = 0, read_bytes_ = 0;
};

Result<> SimReader::run() {
  publish();
  while (reads_left() || in_flight() > 0) {
    fill();
    if (in_flight() > 0) {
      BLKSWEEP_CHECK(drain());
    } else if (!gate_open()) {
      const auto at = consumer_.when(schedule_.gates[next_gate_].consumed_batches);
      if (!at) {
        return fail("simulate: a gate of the schedule waits for reads behind it");
      }
      now_ = std::max(now_, *at);
    }
  }
  return {};
}

bool SimReader::gate_open() {
  const auto& gates = schedule_.gates;
  while (next_gate_ < gates.size() && gates[next_gate_].read <= next_read_) {
    if (consumer_.consumed(now_) < gates[next_gate_].consumed_batches) {
      return false;
    }
    ++next_gate_;
  }
  return true;
}

std::uint32_t SimReader::group_limit() const {
  const auto room = static_cast<std::uint32_t>(free_tags_.size());
  const std::uint32_t batch = plan_.submit_batch;
  return batch > 0 && room < batch && in_flight() > 0 ? 0 : room;
}

void SimReader::fill() {
  std::uint32_t room = group_limit();
  while (room > 0 && reads_left() && gate_open()) {
    take(next_read_++);
    room = static_cast<std::uint32_t>(free_tags_.size());
  }
  submit_group();
}

void SimReader::take(std::uint32_t read) {
  const PieceRange range{read, plan_.first_piece[read], plan_.first_piece[read + 1]};
  if (plan_.reads[read].source == kZeros) {
    readiness_.complete(range, now_);
    publish();
    return;
  }
  ++reads_;
  read_bytes_ += plan_.reads[read].length;
  range_of_[free_tags_.back()] = range;
  group_.push_back(free_tags_.back());
  free_tags_.pop_back();
}

void SimReader::submit_group() {
  if (in_.settings.engine == EngineKind::psync) {
    submit_one_by_one();
  } else {
    submit_plugged();
  }
  group_.clear();
}

void SimReader::submit_plugged() {
  const bool plugged = group_.size() > kPlugThreshold;
  for (const std::uint32_t tag : group_) {
    now_ += in_.device.host_cost.count();
    queue_.add(now_, tag, ranges(tag));
    if (!plugged) {
      queue_.flush(now_);
    }
  }
  queue_.flush(now_);
}

// pread(2) returns when its bytes are there.
void SimReader::submit_one_by_one() {
  for (const std::uint32_t tag : group_) {
    const std::size_t before = completed_.size();
    now_ += in_.device.host_cost.count();
    queue_.add(now_, tag, ranges(tag));
    queue_.flush(now_);
    queue_.advance(now_, completed_);
    while (completed_.size() == before) {
      const auto at = queue_.next();
      if (!at) {
        return;  // drain() says what is wrong
      }
      now_ = std::max(now_, *at);
      queue_.advance(now_, completed_);
    }
  }
}

std::size_t SimReader::refill_target() const {
  const std::uint32_t group = std::max(refill_of(in_.settings), plan_.submit_batch);
  const std::uint32_t keep = depth_ - std::min(depth_, group);
  return reads_left() && in_flight() > keep ? in_flight() - keep : 0;
}

Result<> SimReader::wait_for(std::size_t reads) {
  queue_.advance(now_, completed_);
  while (completed_.size() < reads) {
    const auto at = queue_.next();
    if (!at) {
      return fail("simulate: the model lost a request");
    }
    now_ = std::max(now_, *at);
    queue_.advance(now_, completed_);
  }
  return {};
}

Result<> SimReader::drain() {
  const std::size_t target = in_.settings.engine == EngineKind::psync ? 0 : refill_target();
  BLKSWEEP_CHECK(wait_for(std::max<std::size_t>(1, target)));
  const auto taken = std::span(completed_).first(target > 0 ? target : completed_.size());
  for (const std::uint32_t tag : taken) {
    free_tags_.push_back(tag);
    readiness_.complete(range_of_[tag], now_);
  }
  completed_.erase(completed_.begin(),
                   completed_.begin() + static_cast<std::ptrdiff_t>(taken.size()));
  publish();
  return {};
}

void SimReader::publish() {
  if (readiness_.publish(now_)) {
    consumer_.ready(readiness_.published(), now_);
  }
}

Prediction SimReader::prediction() const {
  Prediction p;
  p.epoch_ns = std::max(now_, consumer_.end());
  if (readiness_.published() > 0) {
    p.first_batch_ns = readiness_.times().front().ready_ns;
  }
  p.samples = plan_.order.size();
  p.bytes = in_.catalog.bytes().n * plan_.epochs;
  p.reads = reads_;
  p.read_bytes = read_bytes_;
  p.unknown_bytes = addresses_.unknown_bytes();
  if (consumer_.exists() && p.epoch_ns > 0) {
    p.utilisation = static_cast<double>(consumer_.busy()) / static_cast<double>(p.epoch_ns);
  }
  p.device = queue_.counts();
  return p;
}

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
  SimReader reader(in);
  BLKSWEEP_CHECK(reader.run());
  const Prediction p = reader.prediction();
  const double unknown = static_cast<double>(p.unknown_bytes);
  if (unknown > kMostUnknown * static_cast<double>(p.read_bytes)) {
    return fail(
        fmt::format("{} of {} to read have no known place on the disk (inline, compressed or "
                    "unmapped extents): this data set cannot be predicted",
                    format_bytes({p.unknown_bytes}), format_bytes({p.read_bytes})));
  }
  return p;
}

}  // namespace blksweep
