// ArenaMap: which granules of the arena are free while a schedule is simulated.
//
// A good-fit allocator in constant time (after Masmano et al., "TLSF: a new dynamic memory
// allocator for real-time systems", ECRTS 2004): free runs in lists by size class, found through
// bitmaps, joined with their neighbours when given back. Runs in use need no record at all.
//
// Units:   granules; the caller knows their size.
// Memory:  4 bytes per granule of the arena, 20 per free run.
// Threads: one owner.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace blksweep {

class ArenaMap {
 public:
  explicit ArenaMap(std::uint32_t granules);
  // First granule of a run of n > 0, or nothing when no free run is long enough.
  std::optional<std::uint32_t> take(std::uint32_t n);
  void give(std::uint32_t start, std::uint32_t n);
  // Appends granules to the end.
  void extend(std::uint32_t granules);
  std::uint32_t size() const { return static_cast<std::uint32_t>(tag_.size()); }

 private:
  struct Run {
    std::uint32_t start;
    std::uint32_t length;  // 0: this record is unused
    std::uint32_t next;    // in its size class, or in the list of unused records
    std::uint32_t prev;
    std::uint32_t end() const { return start + length; }
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr unsigned kStepBits = 3;  // 8 classes per doubling: at most 12.5 % too long
  static constexpr unsigned kClasses = (32 - kStepBits + 1) << kStepBits;

  static unsigned class_of(std::uint32_t n);
  std::uint32_t find(std::uint32_t n) const;
  std::uint32_t next_class(unsigned from) const;
  void insert(std::uint32_t start, std::uint32_t length);
  void remove(std::uint32_t run);
  std::uint32_t run_starting_at(std::uint32_t granule) const;
  std::uint32_t run_ending_at(std::uint32_t granule) const;

  std::vector<Run> runs_;
  std::uint32_t unused_ = kNone;
  // First and last granule of each free run name it; others are stale and checked before use.
  std::vector<std::uint32_t> tag_;
  std::array<std::uint32_t, kClasses> first_;
  std::array<std::uint64_t, (kClasses + 63) / 64> filled_{};
};

}  // namespace blksweep
