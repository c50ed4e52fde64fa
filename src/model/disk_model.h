// DiskModel: when a storage device would answer, as pure code on a virtual clock.
//
// Use:     arrive() hands over a request; next() says when something will be done; advance() moves
//          the clock and gives what is done by then. The emulated disk (disk/) drives it with a
//          real clock, simulate.h with none.
// Units:   virtual nanoseconds from 0, bytes on the device.
// Time:    never goes back: each `now` is at least the one before. What happens between two calls
//          happens at its own time: a disk that became idle at 5 ms starts on what had arrived by
//          5 ms, even if it is asked at 9 ms only.
// Errors:  none; a request inside the device is a REQUIRES.
// Threads: one owner. Deterministic: same calls, same answers (jitter comes from the seed).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/model_spec.h"

namespace blksweep {

struct DiskRequest {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;  // > 0
  bool write = false;
};

struct DiskCompletion {
  std::uint64_t tag = 0;
  std::int64_t at_ns = 0;  // when it was done, not when advance() was called
};

class DiskModel {
 public:
  virtual ~DiskModel() = default;
  // REQUIRES: offset + bytes <= the device's size. `tag` is the caller's, given back when done.
  virtual void arrive(std::int64_t now, std::uint64_t tag, const DiskRequest& request) = 0;
  // When the earliest request will be done, if no other arrives before that; none here: nullopt.
  // Exact, except that a later arrival may get onto a flash device's link first: then advance() at
  // this time gives nothing and next() says a later one.
  virtual std::optional<std::int64_t> next() const = 0;
  // Appends what is done at or before `now`, by time.
  virtual void advance(std::int64_t now, std::vector<DiskCompletion>& done) = 0;
};

// A device of `size` bytes.
std::unique_ptr<DiskModel> make_model(const ModelSpec& spec, Bytes size, std::uint64_t seed = 1);

// What can be said of a model without running it; what it does not define is nullopt.
struct ModelFacts {
  std::optional<double> random_mean_ns;  // 4 KiB at depth 1, uniform over the device
  std::optional<double> seek_mean_ns;    // over uniform pairs
  std::optional<double> rotation_ns;     // one revolution
  std::optional<double> sequential_begin, sequential_end, sequential_mean;  // bytes/s
};
ModelFacts model_facts(const ModelSpec& spec, Bytes size);

}  // namespace blksweep
