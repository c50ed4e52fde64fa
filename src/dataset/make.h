// Makes data sets with known sizes, order and fragmentation, from a seed.
//
// Files are created in a seeded random order over all classes, as the extraction of a shuffled
// archive or a parallel download leaves them: path order, creation order and LBA order differ.
// Content is incompressible and depends on the seed and the file's number only.
//
// Errors:  refused before anything is written: too little space or inodes, a folder that is not
//          empty, sizes that the format cannot hold. An error later leaves an incomplete folder
//          and says so; a stop that was asked for (os/process/signals.h) is Exit::interrupted.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "base/units.h"

namespace blksweep {

// "4KiB", "uniform:1KiB-64KiB", "lognormal:110KiB" (mean), "lognormal:24KiB:0.5" (mean, sigma).
struct SizeSpec {
  enum class Kind { fixed, uniform, lognormal };
  Kind kind = Kind::lognormal;
  Bytes low{std::uint64_t{110} * 1024};  // fixed: the size; uniform: smallest; lognormal: mean
  Bytes high{0};                         // uniform: largest
  double sigma = 0.5;                    // lognormal: of the logarithm
  std::uint64_t draw(Rng& rng) const;
};
Result<SizeSpec> parse_size_spec(std::string_view text);
std::string to_string(const SizeSpec& spec);

enum class PackFormat { files, tar, records };

// In which order files are created, and so roughly how they lie on the device: class after class
// with random names inside (an archive per class), or all classes mixed (a shuffled archive, a
// parallel download).
enum class Arrangement { by_class, mixed };

struct MakeSettings {
  std::string directory;
  std::uint64_t count = 0;
  SizeSpec size;
  std::uint32_t classes = 10;
  double fragment = 1;  // extents per file on average
  std::uint64_t seed = 1;
  PackFormat format = PackFormat::files;
  Arrangement arrange = Arrangement::by_class;
  Bytes shard{std::uint64_t{256} << 20};  // tar: a shard is closed when it has reached this size
};

struct MakeReport {
  std::uint64_t files = 0;  // data files: samples that were asked for
  std::uint64_t bytes = 0;  // of samples
  std::uint64_t on_disk_files = 0;
  double extents_per_file = 0;  // counted with FIEMAP when fragments were asked for, else 0
  std::int64_t time_ns = 0;
};

// What make_dataset() refuses before it looks at the folder. Errors: usage.
Result<> check_make_settings(const MakeSettings& settings);
// On the device, with what a filesystem of 4 KiB blocks needs for its own.
Bytes space_needed(const MakeSettings& settings);

// Called now and then with samples written so far.
using MakeProgress = std::function<void(std::uint64_t done, std::uint64_t bytes)>;
Result<MakeReport> make_dataset(const MakeSettings& settings, const MakeProgress& progress);

// The bytes of file `number`, from its start on, piece by piece.
class Content {
 public:
  Content(std::uint64_t seed, std::uint64_t number);
  // REQUIRES: all pieces but the last are a multiple of 8 bytes long.
  void next(std::span<std::byte> out);

 private:
  Rng rng_;
};
// "class_0003/000017.bin": file numbers go round the classes.
std::string sample_path(std::uint64_t number, std::uint32_t classes);

}  // namespace blksweep
