// What happened to a batch, stage by stage: one shape from the threads that do it to the account,
// the database and the figures.
//
// A stage is a line of Stage and its name here, and what the account calls it (kLaneWords in
// stats/account.h); whoever carries the stage out writes its times.
// Units:   nanoseconds of CLOCK_MONOTONIC, or of the simulator's clock.
// Threads: each stage of a batch is written by one thread, before it publishes the batch
//          (loader/handoff.h); values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace blksweep {

struct TimeSpan {
  std::int64_t begin = 0, end = 0;  // begin >= end: no instant at all

  std::int64_t length() const { return end > begin ? end - begin : 0; }
  bool operator==(const TimeSpan&) const = default;
};

// The first kLanes in the order in which a batch passes them, and then parts of one of those.
enum class Stage : std::uint8_t {
  read,      // from the first submission until the last byte is in the window
  decode,    // by all decoding threads together
  copy,      // the copy stage works at the batch until it has arrived: allocates, gathers,
             // registers, transfers
  compute,   // the consumer has it
  transfer,  // within `copy`: from its first byte leaving until its last one is there
  blocked,   // within `copy`: the copy thread can do nothing else
  release,   // behind `copy`, in its lane: what was taken for the batch alone is given back
};
inline constexpr std::size_t kLanes = 4;
inline constexpr std::size_t kStages = 7;
inline constexpr std::array<std::string_view, kStages> kStageNames{
    "read", "decode", "copy", "compute", "transfer", "blocked", "release"};
inline std::string_view to_string(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

struct StageTimes : TimeSpan {
  // Not after `begin`: in between only a slot of the stage's ring was missing, and nothing else.
  std::int64_t wait = 0;
  bool operator==(const StageTimes&) const = default;
};
constexpr StageTimes without_wait(const TimeSpan& span) { return {span, span.begin}; }

struct BatchTimes {
  std::array<std::optional<StageTimes>, kStages> stages;  // nullopt: it did not pass this one (yet)
  std::int64_t consumed = 0;  // its memory may be used again; 0: not yet

  bool operator==(const BatchTimes&) const = default;
  std::optional<StageTimes>& operator[](Stage s) { return stages[static_cast<std::size_t>(s)]; }
  const std::optional<StageTimes>& operator[](Stage s) const {
    return stages[static_cast<std::size_t>(s)];
  }
  // Since when nothing but the consumer keeps it waiting. REQUIRES: it was read.
  std::int64_t arrived() const {
    std::size_t last = static_cast<std::size_t>(Stage::copy);
    while (!stages[last]) {
      --last;
    }
    return stages[last]->end;
  }
};

// The reader had nothing in flight and waited until this many batches were given back. Waits are in
// order and do not overlap: there is one reader.
struct MemoryWait {
  TimeSpan span;
  std::uint32_t consumed_batches = 0;
  bool operator==(const MemoryWait&) const = default;
};

}  // namespace blksweep
