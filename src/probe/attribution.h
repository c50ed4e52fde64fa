// What each read of a disk was for: the files and samples that it served, by address, and what
// served nobody, as classes with bytes.
//
// Parts:    a request is cut where files and samples begin and end (plan/owner_map.h), so one that
//           was merged of several files is each one's, with its bytes. Every byte of a request is
//           in one class: the classes' bytes sum up to those of the requests.
// Counts:   a request counts once in each class, file, extent and folder that it holds bytes of.
// Latency:  of a request as a whole, issue to completion; of a file or an extent, of the requests
//           that hold bytes of it.
// Meaning:  docs/probe.md, "What requests were for".
// Threads:  pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/owner_map.h"
#include "probe/block_probe.h"

namespace blksweep {

enum class ReadClass : std::uint8_t {
  samples,     // bytes of samples
  read_ahead,  // of their files, but of no sample; behind them on the device, read with them
  gaps,        // between files, bridged by a read of the plan
  metadata,    // of the filesystem
  other,       // made by other programs, whatever is there
  elsewhere    // none of these: another file, or a place that the catalog does not know
};
inline constexpr std::array kReadClasses = {ReadClass::samples, ReadClass::read_ahead,
                                            ReadClass::gaps,    ReadClass::metadata,
                                            ReadClass::other,   ReadClass::elsewhere};
const char* to_string(ReadClass kind);

struct ReadTraffic {
  std::uint64_t requests = 0, bytes = 0;
  std::uint64_t completed = 0, latency_ns = 0;  // of requests whose end was seen; their sum
  std::optional<double> latency_mean_ns() const;
};

struct PathTraffic {
  std::string path;  // relative to the data set's directory; its own folder is "."
  ReadTraffic traffic;
};

struct ExtentTraffic {
  std::string path;                                        // of its file
  std::uint64_t file_offset = 0, address = 0, length = 0;  // bytes; address: of the whole disk
  ReadTraffic traffic;
};

struct ProcessTraffic {
  std::uint32_t process = 0;  // that made the requests; 0: not known
  std::int64_t first_ns = 0;  // when the first of them was issued
  ReadTraffic traffic;
};

// Requests of at least `bytes` (and less than twice that) that took at least `latency_ns`.
struct LatencyCell {
  std::uint64_t bytes = 0, latency_ns = 0, requests = 0;
};

struct Attribution {
  std::array<ReadTraffic, kReadClasses.size()> classes;
  std::vector<PathTraffic> files, folders;  // most bytes first, kMostPaths at most
  std::vector<ExtentTraffic> extents;       // likewise
  std::vector<ProcessTraffic> processes;    // likewise
  std::vector<LatencyCell> latency;         // by size, then latency
  std::vector<std::uint32_t> read_files;    // all of which something was read, in no order
  const ReadTraffic& of(ReadClass c) const { return classes[static_cast<std::size_t>(c)]; }
  ReadTraffic& of(ReadClass c) { return classes[static_cast<std::size_t>(c)]; }
};

inline constexpr std::size_t kMostPaths = 50;

struct AttributionQuestion {
  const Catalog& catalog;
  const OwnerMap& map;
  // Processes of which none is another program; empty: nobody is told apart.
  std::span<const std::uint32_t> ours = {};
};

Attribution attribute(const AttributionQuestion& question, std::span<const ProbeIssue> reads);

// The class of each part of one request, by `parts` of OwnerMap::append_parts.
std::vector<ReadClass> classes_of(const ReadOrigin& origin, std::span<const OwnedPart> parts,
                                  std::span<const std::uint32_t> ours);

}  // namespace blksweep
