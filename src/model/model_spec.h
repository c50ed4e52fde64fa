// ModelSpec: the numbers of a device model, as a TOML file gives them (docs/models.md).
//
// Kinds:   rotating (one head over tracks), flash (parallel channels behind a link), remote (a
//          server behind a network), instant (no delay at all: "none" on the command line).
// Units:   nanoseconds, bytes, bytes per second; fractions are of the whole device, 0..1.
// Errors:  parse_model names the file, the key and the way out; every value is checked (positive,
//          ordered, in range), unknown keys are refused. Never crashes on any text (fuzzed).
// Source:  each file in scripts/models/ cites the source of every number.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace blksweep {

// Time of a seek over a fraction of the stroke, interpolated linearly in the square root of the
// fraction (short seeks are all acceleration: Ruemmler and Wilkes, "An introduction to disk drive
// modeling", IEEE Computer 27(3), 1994). Ascending in fraction; the first point holds below it, the
// last above.
struct SeekPoint {
  double fraction;
  double ns;
};
using SeekCurve = std::vector<SeekPoint>;

// a + b sqrt(x) + c x through the three numbers of every data sheet: single track (x -> 0), mean
// over uniform pairs (E sqrt(x) = 8/15, E x = 1/3) and full stroke (x = 1). A curve that would fall
// somewhere is an error.
Result<SeekCurve> seek_curve(Nanos single_track, Nanos average, Nanos full_stroke);
double seek_ns(const SeekCurve& curve, double fraction);
double mean_seek_ns(const SeekCurve& curve);  // over uniform pairs

struct RotatingSpec {
  double rotation_ns = 0;                 // one revolution
  SeekCurve seek_forward, seek_backward;  // equal unless measured
  std::vector<double> zone_rates;         // bytes/s of the media, zones of equal size, outer first
  Bytes stroke{0};            // bytes under the full stroke; 0: the emulated device spans it
  double overhead_ns = 0;     // electronics, per command; overlaps with earlier commands
  double interface_rate = 0;  // bytes/s, of what is in the drive's cache
  std::uint32_t queue = 1;    // NCQ: commands to choose from, nearest in time first; 1: FIFO
  double ageing = 0;          // ns of positioning that a ns of waiting is worth (anti-starvation)
  std::uint32_t cache_segments = 1;
  Bytes cache_segment{std::uint64_t{256} << 10};  // read-ahead goes on this far behind a read
};

struct FlashSpec {
  double read_ns = 0, write_ns = 0;  // of one page on one channel
  Bytes page{4096};                  // unit of striping over channels
  std::uint32_t channels = 1;        // pages that are worked on at once
  double overhead_ns = 0;            // per command, in parallel
  double link_rate = 0;              // bytes/s, shared by all
  std::uint32_t queue = 32;          // commands inside at once; the rest waits outside
};

struct RemoteSpec {
  double round_trip_ns = 0;
  double jitter = 0;      // sigma of the log-normal factor on the round trip (median 1)
  double request_ns = 0;  // server time per request, one after another: the IOPS cap
  double link_rate = 0;   // bytes/s
  std::uint32_t queue = 256;
};

struct InstantSpec {};

struct ModelSpec {
  std::string name;         // "hdd-7200"
  std::string description;  // one line
  std::variant<InstantSpec, RotatingSpec, FlashSpec, RemoteSpec> timing;
};

// `name` is used in errors and as the model's name unless the text has one.
Result<ModelSpec> parse_model(const std::string& text, const std::string& name);
// parse_model(to_toml(m)) gives m again.
std::string to_toml(const ModelSpec& spec);
// "none"; a path (has a '/' or ends in .toml); or the name of a file in the folder of models.
// Errors list the models that there are.
Result<ModelSpec> load_model(const std::string& name_or_path,
                             const std::vector<std::string>& folders);

}  // namespace blksweep
