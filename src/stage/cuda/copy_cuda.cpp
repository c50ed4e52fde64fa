// The copy stage on an NVIDIA GPU. The reader's own window is registered once (--staging pinned),
// so that copy engines read from where the disk wrote to and no host thread touches the bytes.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "stage/cuda/clock_cuda.h"
#include "stage/cuda/cuda_stage.h"
#include "stage/cuda/hash_cuda.h"
#include "stage/cuda/pieces_cuda.h"

namespace blksweep {
namespace {

constexpr std::size_t kSlotAlign = 256;  // as cuMemAlloc aligns
constexpr std::uint32_t kAhead = 2;

// Registers or allocates for each batch, and gives that back after it.
bool owns_memory(Staging staging) {
  return staging == Staging::register_each || staging == Staging::per_batch;
}

// A batch between begin() and finish().
struct Flight {
  Event begin, end;
  StagedBatch staged;
  CopyTimes times;
  std::int64_t issued_ns = 0, seen_ns = 0;  // the host's own: before its beginning, after its end
  bool complete = false;                    // everything was issued, `end` behind it
};

struct Lane {
  Stream stream;
  Event end;
};

class CudaCopy final : public CopyStage {
 public:
  static Result<std::unique_ptr<CopyStage>> make(const CudaCopySettings& settings);
  ~CudaCopy() override;

  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override;
  Result<CopyTimes> finish(std::uint32_t batch) override;
  std::uint32_t in_flight() const override { return static_cast<std::uint32_t>(flights_.size()); }
  const std::byte* staged(std::uint32_t /*batch*/) const override { return nullptr; }
  Result<> check(std::uint32_t batch, std::span<const BatchPart> parts,
                 std::span<std::uint8_t> wrong) override;
  std::optional<ClockAlignment> alignment() const override { return clock_.alignment(); }
  std::string means() const override {
    return fmt::format("copies: {}, {} stream{}", calls_.words(), lanes_.size(),
                       lanes_.size() == 1 ? "" : "s");
  }

 private:
  CudaCopy(const CudaCopySettings& settings, CudaClock clock)
      : settings_(settings), clock_(std::move(clock)) {}
  Result<> open();
  Result<> issue(Flight& flight);
  Result<> issue_lane(std::size_t lane, CopyRange range, CUevent begin);
  Result<CopyTimes> arrived(Flight& flight);
  void drain();
  std::byte* slot(std::uint32_t batch) const {
    return memory_.get() + batch % settings_.slots * slot_bytes_;
  }
  Flight& flight(std::uint32_t batch) { return *flights_[batch % flights_.size()]; }

  const CudaCopySettings settings_;
  CudaClock clock_;
  std::size_t slot_bytes_ = 0;
  DeviceMemory<std::byte> memory_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<Flight>> flights_;
  Pieces pieces_;
  std::unique_ptr<DeviceHash> hash_;  // made by the first check()
  std::vector<std::size_t> ends_;     // of each lane's pieces
  CopyCalls calls_;
  bool registered_ = false;
};

Result<std::unique_ptr<CopyStage>> CudaCopy::make(const CudaCopySettings& settings) {
  BLKSWEEP_CHECK(open_device(settings.device));
  BLKSWEEP_TRY(CudaClock clock, CudaClock::make());
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
    BLKSWEEP_TRY(lane.end, make_event(false));
  }
  // Two batches may share a page, which can be registered only once.
  const bool alone = settings_.staging == Staging::register_each;
  for (std::uint32_t i = 0; i < (alone ? 1 : std::min(kAhead, settings_.slots)); ++i) {
    flights_.push_back(std::make_unique<Flight>());
    BLKSWEEP_TRY(flights_.back()->begin, make_event(false));
    BLKSWEEP_TRY(flights_.back()->end, make_event(true));
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
  BLKSWEEP_CHECK(clock_.tick());
  BLKSWEEP_CHECK(f.staged.stage(settings_.staging, parts, slot(batch), pieces_));
  return issue(f);
}

// Each lane has the same share of the bytes. The first one begins and ends the batch; the others
// start behind its beginning and are waited for before its end, all on the GPU.
Result<> CudaCopy::issue(Flight& f) {
  CUstream first = lanes_[0].stream.get();
  share_out(pieces_, lanes_.size(), ends_);
  f.issued_ns = now_ns();
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_record(f.begin.get(), first), "cuEventRecord"));
  std::size_t first_piece = 0;
  for (std::size_t i = 0; i < lanes_.size(); first_piece = ends_[i++]) {
    if (first_piece < ends_[i]) {
      BLKSWEEP_CHECK(issue_lane(i, {first_piece, ends_[i]}, f.begin.get()));
    }
  }
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_record(f.end.get(), first), "cuEventRecord"));
  f.complete = true;
  return {};
}

Result<> CudaCopy::issue_lane(std::size_t lane, CopyRange range, CUevent begin) {
  CUstream stream = lanes_[lane].stream.get();
  if (lane == 0) {
    return copy_pieces(pieces_, range, stream, calls_);
  }
  BLKSWEEP_CHECK(
      cuda_result(cuda_driver().stream_wait_event(stream, begin, 0), "cuStreamWaitEvent"));
  BLKSWEEP_CHECK(copy_pieces(pieces_, range, stream, calls_));
  CUevent end = lanes_[lane].end.get();
  BLKSWEEP_CHECK(cuda_result(cuda_driver().event_record(end, stream), "cuEventRecord"));
  return cuda_result(cuda_driver().stream_wait_event(lanes_[0].stream.get(), end, 0),
                     "cuStreamWaitEvent");
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
  }
  const Result<> released = f.staged.release();
  // Giving back what was taken for this batch alone is part of what its copy costs.
  f.times.all.end = owns_memory(settings_.staging) ? now_ns() : 0;
  BLKSWEEP_CHECK(waited);
  BLKSWEEP_CHECK(released);
  return arrived(f);
}

Result<CopyTimes> CudaCopy::arrived(Flight& f) {
  BLKSWEEP_CHECK(clock_.tick());
  TimeSpan& moved = f.times.transfer;
  BLKSWEEP_TRY(moved.begin, clock_.time_of(f.begin.get(), {f.issued_ns, f.issued_ns, f.seen_ns}));
  BLKSWEEP_TRY(moved.end, clock_.time_of(f.end.get(), {f.issued_ns, moved.begin, f.seen_ns}));
  f.times.all.end = std::max(f.times.all.end, moved.end);
  return f.times;
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
