// DecodeStage: a copy stage that decodes packed samples on its way to another one.
//
// begin() decodes a batch's parts on several threads, one behind the other into a slot of a ring
// that was allocated beforehand, and hands them to the inner stage; without one they end there.
// Every part's hash is checked (codec/codec.h). One that cannot be decoded is remembered with the
// reason and goes on as a part of 0 bytes; it is no Error, because the rest of the run is worth
// having.
//
// Units:     bytes; times are CLOCK_MONOTONIC.
// Ownership: owns the ring, the threads and the inner stage.
// Errors:    those of the inner stage.
// Threads:   as CopyStage. times() and failures() after the last finish().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory.h"
#include "base/worker_pool.h"
#include "codec/codec.h"
#include "stage/copy_stage.h"

namespace blksweep {

struct DecodeSettings {
  unsigned threads = 1;
  std::uint32_t slots = 1;         // of the ring; as many as the caller reuses
  Bytes slot_bytes{0};             // of the largest decoded batch
  std::uint32_t batches = 0;       // of the epoch
  std::function<void()> on_start;  // of each thread: binds it
};

struct DecodeTimes {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint64_t bytes = 0;  // decoded
};

struct DecodeFailure {
  std::uint32_t batch = 0;
  std::uint32_t part = 0;  // number among the parts that begin() was given
  std::string why;
};

class DecodeStage final : public CopyStage {
 public:
  static constexpr std::size_t kNamedFailures = 100;

  static Result<std::unique_ptr<DecodeStage>> make(const DecodeSettings& settings);

  // Before the first begin(). The inner stage gets parts that lie in ring().
  void send_to(std::unique_ptr<CopyStage> inner) { inner_ = std::move(inner); }
  std::span<std::byte> ring() { return ring_.span(); }

  Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) override;
  Result<CopyTimes> finish(std::uint32_t batch) override;
  // begin() decodes: a batch that has arrived would wait for the next one to be decoded.
  std::uint32_t in_flight() const override { return 1; }
  const std::byte* staged(std::uint32_t batch) const override;
  std::span<const BatchPart> delivered(std::uint32_t batch,
                                       std::span<const BatchPart> given) const override;
  Result<> check(std::uint32_t batch, std::span<const BatchPart> parts,
                 std::span<std::uint8_t> wrong) override;
  std::optional<ClockAlignment> alignment() const override;
  std::string means() const override { return inner_ ? inner_->means() : std::string(); }

  const std::vector<DecodeTimes>& times() const { return times_; }  // by batch
  std::uint64_t failed() const { return failed_; }
  const std::vector<DecodeFailure>& failures() const { return failures_; }  // the first ones

 private:
  struct Slot {
    std::vector<BatchPart> decoded;
  };
  DecodeStage(const DecodeSettings& settings, PageBuffer ring);
  void lay_out(std::uint32_t batch, std::span<const BatchPart> parts);
  void decode(unsigned worker, const BatchPart& part, std::size_t number);
  void collect(std::uint32_t batch);
  std::byte* slot_begin(std::uint32_t batch) { return ring_.data() + offset_of(batch); }
  std::size_t offset_of(std::uint32_t batch) const { return batch % slots_.size() * slot_bytes_; }

  std::size_t slot_bytes_;
  PageBuffer ring_;
  std::vector<Slot> slots_;
  std::vector<DecodeTimes> times_;
  std::uint64_t failed_ = 0;
  std::vector<DecodeFailure> failures_;
  // Of the batch that is being decoded, by part.
  std::vector<SampleHeader> headers_;
  std::vector<std::byte*> targets_;
  std::vector<std::string> errors_;  // empty: none
  std::vector<Decoder> decoders_;    // by worker
  std::unique_ptr<CopyStage> inner_;
  WorkerPool pool_;
};

}  // namespace blksweep
