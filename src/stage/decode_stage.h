// DecodeStage: decodes packed samples into a ring, before they are copied or used; or spends the
// time that decoding would take, and leaves samples where and as they are (`spin`).
//
// decode() decodes a batch's parts on several threads, one behind the other into a slot of a ring
// that was allocated beforehand. Every part's hash is checked (codec/codec.h). One that cannot be
// decoded is remembered with the reason and goes on as a part of 0 bytes; it is no Error, because
// the rest of the run is worth having.
//
// Units:     bytes; times are CLOCK_MONOTONIC.
// Ownership: owns the ring and the threads. What decoded() names stays until the slot is used
//            again, `slots` batches later; the caller waits for whoever reads it before that.
// Threads:   decode() on one thread, in ascending order of batches, and sleeps meanwhile;
//            decoded() after decode() of that batch, on any. bytes() and failures() after the last.
#pragma once

#include <cstddef>
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
  std::uint32_t slots = 1;              // of the ring
  Bytes slot_bytes{0};                  // of the largest decoded batch
  std::uint32_t batches = 0;            // of the epoch
  Nanos spin{0};                        // > 0: CPU time for each part, in place of decoding it
  std::function<void()> on_start = {};  // of each thread: binds it
};

struct DecodeFailure {
  std::uint32_t batch = 0;
  std::uint32_t part = 0;  // number among the parts that decode() was given
  std::string why;
};

class DecodeStage {
 public:
  static constexpr std::size_t kNamedFailures = 100;

  static Result<std::unique_ptr<DecodeStage>> make(const DecodeSettings& settings);
  DecodeStage(const DecodeStage&) = delete;
  DecodeStage& operator=(const DecodeStage&) = delete;

  // `room`: the bytes that each part may become, as the index of its data set says; together a slot
  // at most. The parts' bytes stay valid and unchanged until it returns.
  TimeSpan decode(std::uint32_t batch, std::span<const BatchPart> parts,
                  std::span<const std::uint64_t> room);
  // As many parts as decode() was given, in their order, one behind the other in the ring.
  std::span<const BatchPart> decoded(std::uint32_t batch) const;

  bool spins() const { return spin_.count() > 0; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::span<std::byte> ring() { return ring_.span(); }

  const std::vector<std::uint64_t>& bytes() const { return bytes_; }  // decoded, by batch
  std::uint64_t failed() const { return failed_; }
  const std::vector<DecodeFailure>& failures() const { return failures_; }  // the first ones

 private:
  DecodeStage(const DecodeSettings& settings, PageBuffer ring);
  void lay_out(std::uint32_t batch, std::span<const BatchPart> parts,
               std::span<const std::uint64_t> room);
  void decode_part(unsigned worker, const BatchPart& part, std::size_t number);
  void collect(std::uint32_t batch);
  std::byte* slot_begin(std::uint32_t batch) {
    return ring_.data() + batch % slots_.size() * slot_bytes_;
  }

  TimeSpan spend(std::uint32_t batch, std::span<const BatchPart> parts);

  Nanos spin_;
  std::size_t slot_bytes_;
  PageBuffer ring_;
  std::vector<std::vector<BatchPart>> slots_;  // what lies in each
  std::vector<std::uint64_t> bytes_;
  std::uint64_t failed_ = 0;
  std::vector<DecodeFailure> failures_;
  // Of the batch that is being decoded, by part.
  std::vector<SampleHeader> headers_;
  std::vector<std::byte*> targets_;
  std::vector<std::string> errors_;  // empty: none
  std::vector<Decoder> decoders_;    // by worker
  WorkerPool pool_;
};

}  // namespace blksweep
