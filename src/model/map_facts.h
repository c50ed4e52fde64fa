// What a latency map says about a disk: its rotation, its seek times, its rates by place.
//
// Each estimator stands on the reads alone and says "unknown" (nullopt, empty) rather than guess.
// Sources:  Worthington, Ganger, Patt and Wilkes, "On-line extraction of SCSI disk drive
//           parameters", SIGMETRICS 1995; Gim and Won, "Extract and infer quickly: obtaining sector
//           geometry of modern hard disk drives", ACM TOS 6(2), 2010. docs/latency-map.md has the
//           formulas, their errors and limits.
// Units:    nanoseconds, bytes, bytes per second.
// Threads:  pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/latency_map.h"
#include "model/map_stats.h"

namespace blksweep {

struct Rotation {
  double period_ns = 0;
  double coherence = 0;     // 0: phases as chance has them, 1: all visits to a place at one angle
  double above_chance = 0;  // in standard deviations of what chance gives
  // The same over all places together. Each has an angle of its own on a disk, but reads that a
  // busy host holds up until its clock ticks end in step wherever they are.
  double across = 0;
  bool is_tick() const { return across > 0.7 * coherence; }
};
// From MapPart::revisit. nullopt: no period, or too few visits (12 places, 3 visits each).
std::optional<Rotation> find_rotation(const LatencyMap& map);

struct SeekEstimate {
  std::int64_t distance = 0;  // signed
  std::size_t reads = 0;      // that were used
  double ns = 0;              // smoothed over neighbouring distances of its direction
  double raw_ns = 0;          // of this distance alone (of both directions when they are alike)
};
struct SeekBasis {
  double period_ns = 0, path_ns = 0;
  double transfer_ns = 0;  // of one read from the medium
  double noise_ns = 0;     // how far the path varies
};
// Positioning time without rotational delay, by distance, ascending (backward ones first). Empty
// without distances.
std::vector<SeekEstimate> seek_estimates(const LatencyMap& map, const SeekBasis& basis);

struct MapFacts {
  std::optional<double> path_ns;
  std::optional<double> cached_rate;  // bytes/s of what is cached, from several sizes
  std::optional<Rotation> rotation;
  std::optional<double> tick_ns;    // of the host, which was taken for no rotation
  std::vector<SeekEstimate> seeks;  // only with rotation and path
  std::vector<ZoneRate> zones;
  std::vector<DepthRate> depths;
};
MapFacts map_facts(const LatencyMap& map);

}  // namespace blksweep
