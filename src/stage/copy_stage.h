// CopyStage: brings a batch from the window to where the consumer wants it.
//
// A copy has two halves, so that the next batch can be under way before this one has arrived:
// begin() starts it and finish() waits for it. Batches begin and finish in ascending order, at most
// `in_flight()` of them between the two. A stage that takes memory for each batch gives it back in
// release(), so that nobody who waits for the batch waits for that, too.
//
// Lifetime:  the parts' bytes stay valid and unchanged until finish() of their batch has returned,
//            and release() where there is one at arrival; the span itself only until begin() has.
//            What lies in a slot stays until the slot is used again, `slots` batches later; the
//            caller waits for the consumer before that.
// Errors:    an Error ends the run; Exit::interrupted: a stop came first. After one, and at a stop,
//            the caller still calls finish() for every batch that has begun: nothing may be in
//            flight when the parts go.
// Threads:   warm_up() on any before the others; all but staged() and check() on one thread, never
//            the reader's; those after finish() of that batch, on any other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/batch_times.h"
#include "base/device_span.h"
#include "base/memory.h"
#include "base/result.h"
#include "stage/batch_arrival.h"
#include "stage/clock_alignment.h"

namespace blksweep {

struct BatchPart {
  const std::byte* data;
  std::size_t bytes;
};

// CLOCK_MONOTONIC.
struct CopyTimes {
  TimeSpan all;       // until the batch is there: allocating, gathering, registering, transferring
  TimeSpan transfer;  // within `all`: first byte left for the accelerator, last byte was there
};

// When what a copy stage took for one batch alone can be given back.
enum class Releases {
  nothing,   // its memory was made before the epoch
  arrived,   // once the batch is there
  consumed,  // the batch lies in it: when its slot is used again
};

class CopyStage {
 public:
  virtual ~CopyStage() = default;
  CopyStage(const CopyStage&) = delete;
  CopyStage& operator=(const CopyStage&) = delete;

  // Once, with the caches prepared and nothing under way, before an epoch begins: whatever the
  // first batch would pay for and the others not.
  virtual Result<> warm_up() { return {}; }
  virtual Result<> begin(std::uint32_t batch, std::span<const BatchPart> parts) = 0;
  virtual Result<CopyTimes> finish(std::uint32_t batch) = 0;
  virtual std::uint32_t in_flight() const { return 1; }
  // Of a batch that has begun: what work can be queued behind; nullopt: only finish() tells.
  virtual std::optional<BatchArrival> arrival(std::uint32_t /*batch*/) const {
    return std::nullopt;
  }
  // Of a batch that has just finished, until the next call: its transfer, piece by piece.
  virtual std::span<const TransferSlice> slices(std::uint32_t /*batch*/) const { return {}; }

  virtual Releases releases() const { return Releases::nothing; }
  virtual Result<> release(std::uint32_t /*batch*/) { return {}; }

  // Where the batch's parts lie now, one behind the other; nullptr: not in memory that the host can
  // read.
  virtual const std::byte* staged(std::uint32_t batch) const = 0;

  // Compares the batch on the accelerator with the parts that begin() was given, and writes 1 into
  // `wrong` for each part that differs. A stage whose batch the host can read has nothing to do.
  virtual Result<> check(std::uint32_t /*batch*/, std::span<const BatchPart> /*parts*/,
                         std::span<std::uint8_t> /*wrong*/) {
    return {};
  }
  // How well an accelerator's clock was brought to CLOCK_MONOTONIC; nullopt: no other clock.
  virtual std::optional<ClockAlignment> alignment() const { return std::nullopt; }
  // How it carried the batches out, for the record; empty: there is only one way.
  virtual std::string means() const { return {}; }

 protected:
  CopyStage() = default;
};

// memcpy into a ring of `slots` staging buffers of `batch_bytes` each.
Result<std::unique_ptr<CopyStage>> make_host_copy(std::uint32_t slots, Bytes batch_bytes);

}  // namespace blksweep
