// The copy stage on an NVIDIA GPU. The reader's own window is registered once (--staging pinned),
// so that copy engines read from where the disk wrote to and no host thread touches the bytes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "stage/cuda/clock_cuda.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/hash_cuda.h"
#include "stage/cuda/pieces_cuda.h"

namespace blksweep {
namespace {

constexpr std::size_t kSlotAlign = 256;  // as cuMemAlloc aligns
constexpr std::uint32_t kAhead = 2;

// Registers or allocates for each batch, and gives that back when it has arrived.
bool owns_memory(Staging staging) {
  return staging == Staging::register_each || staging == Staging::per_batch;
}

// Of a lane's share the first piece, by which the copy begins, and the rest in up to so many groups
// less one, each between two events: what the host needs to issue the next is in none of them.
constexpr std::size_t kSlicesPerLane = 4;

struct Slice {
  Event begin, end;
  std::uint32_t lane = 0;
  std::uint64_t bytes = 0;
  std::int64_t called_ns = 0;  // the host's, before it asked for the first of its copies
};

// A batch between begin() and finish().
struct Flight {
  Event end;
  std::vector<Slice> slices;
  std::size_t used = 0;  // of them
  StagedBatch staged;
  CopyTimes times;
  std::int64_t issued_ns = 0, seen_ns = 0;  // the host's own: before its beginning, after its end
  bool complete = false;                    // everything was issued, `end` behind it
};

struct Lane {
  Stream stream;
};

class CudaCopy final : public CopyStage {
 public:
  static Result<std::unique_ptr<CopyStage>> make(const CudaCopySettings& settings);
  ~CudaCopy() override;

  Result<> warm_up() override;
  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override;
  Result<CopyTimes> finish(std::uint32_t batch) override;
  std::uint32_t in_flight() const override { return static_cast<std::uint32_t>(flights_.size()); }
  std::optional<BatchArrival> arrival(std::uint32_t batch) const override {
    const Flight& f = *flights_[batch % flights_.size()];
    return f.complete ? std::optional(BatchArrival{.event = f.end.get()}) : std::nullopt;
  }
  std::span<const TransferSlice> slices(std::uint32_t /*batch*/) const override {
    return transfers_;
  }
  Releases releases() const override {
    return owns_memory(settings_.staging) ? Releases::arrived : Releases::nothing;
  }
  Result<> release(std::uint32_t batch) override;
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }
  Result<> check(std::uint32_t batch, std::span<const BatchPart> parts,
                 std::span<std::uint8_t> wrong) override;
  std::optional<ClockAlignment> alignment() const override { return clock_->alignment(); }
  std::string means() const override {
    return fmt::format("copies: {}, {} stream{}", calls_.words(), lanes_.size(),
                       lanes_.size() == 1 ? "" : "s");
  }

 private:
  CudaCopy(const CudaCopySettings& settings, std::shared_ptr<CudaClock> clock)
      : settings_(settings), clock_(std::move(clock)) {}
  Result<> open();
  Result<> issue(Flight& flight);
  Result<> issue_lane(Flight& flight, std::size_t lane, CopyRange range);
  Result<> issue_slice(Slice& slice, CUstream stream, CopyRange range);
  Result<CopyTimes> arrived(Flight& flight, std::uint32_t batch);
  void drain();
  std::byte* slot(std::uint32_t batch) const {
    return memory_.get() + batch % settings_.slots * slot_bytes_;
  }
  Flight& flight(std::uint32_t batch) { return *flights_[batch % flights_.size()]; }

  const CudaCopySettings settings_;
  std::shared_ptr<CudaClock> clock_;
  std::size_t slot_bytes_ = 0;
  DeviceMemory<std::byte> memory_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<Flight>> flights_;
  Pieces pieces_;
  std::vector<TransferSlice> transfers_;  // of the batch that has just finished
  std::unique_ptr<DeviceHash> hash_;
  std::vector<std::size_t> ends_;  // of each lane's pieces
  CopyCalls calls_;
  bool registered_ = false;
};

Result<std::unique_ptr<CopyStage>> CudaCopy::make(const CudaCopySettings& settings) {
  BLKSWEEP_CHECK(open_device(settings.device));
  BLKSWEEP_TRY(std::shared_ptr<CudaClock> clock, CudaClock::of(settings.device));
  std::unique_ptr<CudaCopy> stage(new CudaCopy(settings, std::move(clock)));
  BLKSWEEP_CHECK(stage->open());
  return std::unique_ptr<CopyStage>(std::move(stage));
}

Result<> CudaCopy::open() {
  slot_bytes_ = align_up(std::max<std::uint64_t>(1, settings_.batch_bytes.n), kSlotAlign);
  const MemoryUse use{fmt::format("{} slot{} of {}", settings_.slots,
                                  settings_.slots == 1 ? "" : "s", format_bytes({slot_bytes_})),
                      "use a smaller --batch or fewer --device-slots"};
  BLKSWEEP_TRY(memory_, device_memory<std::byte>(slot_bytes_ * settings_.slots, use));
  lanes_.resize(std::max(1U, settings_.streams));
  for (Lane& lane : lanes_) {
    BLKSWEEP_TRY(lane.stream, make_stream());
  }
  // Where the copy thread itself works for a batch there is no other one beside it; and two may
  // share a page, which can be registered only once.
  const bool alone = settings_.staging != Staging::pinned;
  for (std::uint32_t i = 0; i < (alone ? 1 : std::min(kAhead, settings_.slots)); ++i) {
    flights_.push_back(std::make_unique<Flight>());
    BLKSWEEP_TRY(flights_.back()->end, make_event(true));
    flights_.back()->slices.resize(lanes_.size() * kSlicesPerLane);
    for (Slice& slice : flights_.back()->slices) {
      BLKSWEEP_TRY(slice.begin, make_event(false));
      BLKSWEEP_TRY(slice.end, make_event(false));
    }
  }
  pieces_.reserve(settings_.batch_parts + settings_.streams);
  // For memory that the driver does not know as pinned each copy is a call of its own.
  calls_.one_call = settings_.one_call && settings_.staging != Staging::pageable;
  if (settings_.staging != Staging::pinned || settings_.arena.empty()) {
    return {};
  }
  BLKSWEEP_CHECK(register_host(settings_.arena.data(), settings_.arena.size()));
  registered_ = true;
  return {};
}

// Whatever was issued is through before the window or the GPU's memory goes.
CudaCopy::~CudaCopy() {
  [[maybe_unused]] const Result<> here = use_device(settings_.device);
  drain();
  flights_.clear();
  if (registered_) {
    cuda_driver().host_unregister(settings_.arena.data());
  }
}

void CudaCopy::drain() {
  for (const Lane& lane : lanes_) {
    if (lane.stream) {
      cuda_driver().stream_wait(lane.stream.get());
    }
  }
}

Result<> CudaCopy::begin(std::uint32_t batch, std::span<const BatchPart> parts) {
  Flight& f = flight(batch);
  f.complete = false;
  f.used = 0;
  f.times.all.begin = now_ns();
  std::uint64_t bytes = 0;
  for (const BatchPart& part : parts) {
    bytes += part.bytes;
  }
  if (bytes > slot_bytes_) {
    return fail(fmt::format("batch {} has {}, a slot of the GPU {}", batch, format_bytes({bytes}),
                            format_bytes({slot_bytes_})));
  }
  BLKSWEEP_CHECK(use_device(settings_.device));
  BLKSWEEP_CHECK(f.staged.stage(settings_.staging, parts, slot(batch), pieces_));
  return issue(f);
}

// Each lane has the same share of the bytes. All are waited for on the first one, on the GPU,
// before the batch's end.
Result<> CudaCopy::issue(Flight& f) {
  share_out(pieces_, lanes_.size(), ends_);
  f.issued_ns = now_ns();
  std::size_t first_piece = 0;
  for (std::size_t i = 0; i < lanes_.size(); first_piece = ends_[i++]) {
    if (first_piece < ends_[i]) {
      BLKSWEEP_CHECK(issue_lane(f, i, {first_piece, ends_[i]}));
    }
  }
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_record(f.end.get(), lanes_[0].stream.get()),
                             "cuEventRecord"));
  f.complete = true;
  return {};
}

Result<> CudaCopy::issue_lane(Flight& f, std::size_t lane, CopyRange range) {
  CUstream stream = lanes_[lane].stream.get();
  const std::size_t groups = calls_.one_call ? 1 : kSlicesPerLane - 1;
  const std::size_t rest = range.last - range.first - 1;
  CopyRange next{range.first, range.first + 1};
  for (std::size_t group = 0; next.first < range.last; ++group) {
    Slice& slice = f.slices[f.used++];
    slice.lane = static_cast<std::uint32_t>(lane);
    BLKSWEEP_CHECK(issue_slice(slice, stream, next));
    next = {next.last, range.first + 1 + rest * (group + 1) / groups};
    if (next.first == next.last) {
      next.last = std::min(range.last, next.first + 1);
    }
  }
  return lane == 0 ? Result<>()
                   : cuda_result(cuda_driver().stream_wait_event(lanes_[0].stream.get(),
                                                                 f.slices[f.used - 1].end.get(), 0),
                                 "cuStreamWaitEvent");
}

Result<> CudaCopy::issue_slice(Slice& slice, CUstream stream, CopyRange range) {
  slice.bytes = std::accumulate(pieces_.bytes.begin() + static_cast<std::ptrdiff_t>(range.first),
                                pieces_.bytes.begin() + static_cast<std::ptrdiff_t>(range.last),
                                std::uint64_t{0});
  BLKSWEEP_CHECK(
      cuda_result(cuda_driver().event_record(slice.begin.get(), stream), "cuEventRecord"));
  slice.called_ns = now_ns();
  BLKSWEEP_CHECK(copy_pieces(pieces_, range, stream, calls_));
  return cuda_result(cuda_driver().event_record(slice.end.get(), stream), "cuEventRecord");
}

Result<CopyTimes> CudaCopy::finish(std::uint32_t batch) {
  Flight& f = flight(batch);
  BLKSWEEP_CHECK(use_device(settings_.device));
  if (!f.complete) {
    drain();
    [[maybe_unused]] const Result<> released = f.staged.release();
    return fail(fmt::format("the copy of batch {} had not begun whole", batch));
  }
  const Result<> waited =
      cuda_result(cuda_driver().event_wait(f.end.get()), fmt::format("copy of batch {}", batch));
  f.seen_ns = now_ns();
  if (!waited) {
    drain();
    [[maybe_unused]] const Result<> released = f.staged.release();
  }
  BLKSWEEP_CHECK(waited);
  return arrived(f, batch);
}

// The copy begins with its first piece, and is as long as the GPU says itself.
Result<CopyTimes> CudaCopy::arrived(Flight& f, std::uint32_t batch) {
  const CudaClock::Bounds bounds{f.issued_ns, f.issued_ns, f.seen_ns};
  transfers_.clear();
  TimeSpan device;
  std::int64_t begin_ns = 0;
  for (const Slice& slice : std::span(f.slices).first(f.used)) {
    BLKSWEEP_TRY(CudaClock::Interval moved,
                 clock_->between(slice.begin.get(), slice.end.get(), bounds));
    moved.begin_not_before(slice.called_ns);
    const bool first = transfers_.empty() || moved.device.begin < device.begin;
    device.end = transfers_.empty() ? moved.device.end : std::max(device.end, moved.device.end);
    device.begin = first ? moved.device.begin : device.begin;
    begin_ns = first ? moved.host.begin : begin_ns;
    transfers_.push_back(
        {settings_.host_clock ? moved.host : moved.device, batch, slice.lane, slice.bytes});
  }
  if (transfers_.empty()) {  // of nothing
    BLKSWEEP_TRY(const CudaClock::Moment end, clock_->time_of(f.end.get(), bounds));
    begin_ns = end.host_ns;
  }
  f.times.transfer = {begin_ns, clock_->within(begin_ns + device.length(), begin_ns, f.seen_ns)};
  f.times.all.end = f.times.transfer.end;
  return f.times;
}

Result<> CudaCopy::release(std::uint32_t batch) {
  BLKSWEEP_CHECK(use_device(settings_.device));
  return flight(batch).staged.release();
}

// A batch of the window's own memory, in several pieces for each lane, and the kernel that
// verifies; then the clock is set.
Result<> CudaCopy::warm_up() {
  const std::size_t bytes = std::min<std::size_t>(settings_.batch_bytes.n, settings_.arena.size());
  const std::size_t count = std::min<std::size_t>(2 * lanes_.size(), settings_.batch_parts);
  std::vector<BatchPart> parts;
  for (std::size_t i = 0; i < count && bytes / count > 1; ++i) {
    parts.push_back({settings_.arena.data() + i * (bytes / count), bytes / count - 1});
  }
  const CopyCalls before = calls_;
  BLKSWEEP_CHECK(begin(0, parts));
  BLKSWEEP_CHECK(finish(0));
  BLKSWEEP_CHECK(release(0));
  std::vector<std::uint8_t> wrong(parts.size());
  BLKSWEEP_CHECK(check(0, parts, wrong));
  calls_.batch_calls = before.batch_calls;
  calls_.single_calls = before.single_calls;
  return clock_->restart();
}

Result<> CudaCopy::check(std::uint32_t batch, std::span<const BatchPart> parts,
                         std::span<std::uint8_t> wrong) {
  BLKSWEEP_CHECK(use_device(settings_.device));
  if (!hash_) {
    BLKSWEEP_TRY(hash_,
                 DeviceHash::make(std::max<std::size_t>(parts.size(), settings_.batch_parts)));
  }
  return hash_->compare(slot(batch), parts, wrong);
}

}  // namespace

Result<std::unique_ptr<CopyStage>> make_cuda_copy(const CudaCopySettings& settings) {
  return CudaCopy::make(settings);
}

}  // namespace blksweep
