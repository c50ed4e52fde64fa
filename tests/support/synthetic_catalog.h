// Synthetic catalogs: data sets that exist as extents only, for tests and benchmarks of planning.
//
// Order:     depends on the settings alone; equal settings give equal catalogs.
// Ownership: view() points into the SyntheticCatalog, which must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "plan/catalog.h"

namespace blksweep::support {

struct SyntheticSettings {
  std::uint32_t files = 100;
  double extents_per_file = 1.5;    // mean, of files that have room for more than one
  std::uint64_t mean_bytes = 8192;  // sizes are odd: uniform up to twice this, with some 0 and 1
  std::uint32_t labels = 10;
  double odd = 0;                    // share of extents that are unwritten, inline, shared ...
  double holes = 0;                  // share of extents that are preceded by a hole
  std::uint32_t parts_per_file = 0;  // > 0: samples are parts of the files instead of whole files
  std::uint64_t part_stride = 0;     // parts begin at multiples of this
  std::uint64_t part_bytes = 0;      // and are at most so long
  bool device_readable = true;
  std::uint64_t seed = 1;
};

class SyntheticCatalog {
 public:
  explicit SyntheticCatalog(const SyntheticSettings& settings);
  Catalog view() const;

  // What a reader must see from `offset` of `file` on, as 64 bits per byte: 0 in holes and
  // unwritten extents. The same bytes on the device are device_words(address).
  void file_words(std::uint32_t file, std::uint64_t offset, std::span<std::uint64_t> out) const;
  static void device_words(std::uint64_t address, std::span<std::uint64_t> out);

 private:
  void add_file(std::uint64_t size);
  void add_parts(std::uint32_t file, std::uint64_t size);
  void place_extents();
  std::uint64_t draw_size();
  std::uint32_t draw_flags();

  SyntheticSettings settings_;
  Rng rng_;
  std::vector<FileRecord> files_;
  std::vector<ExtentRecord> extents_;
  std::vector<WholeSample> whole_;
  std::vector<PartSample> parts_;
  std::vector<std::uint32_t> path_end_;
  std::string path_bytes_;
  std::vector<std::uint32_t> label_end_;
  std::string label_bytes_;
};

}  // namespace blksweep::support
