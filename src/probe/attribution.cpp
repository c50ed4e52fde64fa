#include "probe/attribution.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace blksweep {
namespace {

constexpr unsigned kLatencySubBits = 2;  // four steps an octave

// Traffic, and which request was counted last: each is counted once.
struct Tally {
  ReadTraffic traffic;
  std::size_t last = 0;  // its number, plus 1

  void add(const ProbeIssue& read, std::size_t number, std::uint64_t bytes) {
    traffic.bytes += bytes;
    if (std::exchange(last, number + 1) == number + 1) {
      return;
    }
    ++traffic.requests;
    if (read.latency_ns) {
      ++traffic.completed;
      traffic.latency_ns += static_cast<std::uint64_t>(*read.latency_ns);
    }
  }
};

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view(".") : path.substr(0, slash);
}

std::uint64_t latency_step(std::uint64_t ns) {
  const auto width = static_cast<unsigned>(std::bit_width(ns));
  const unsigned dropped = width > kLatencySubBits ? width - kLatencySubBits - 1 : 0;
  return ns >> dropped << dropped;
}

bool made_by_others(const ReadOrigin& origin, std::span<const std::uint32_t> ours) {
  return !ours.empty() && origin.process != 0 &&
         std::ranges::find(ours, origin.process) == ours.end();
}

// What is read ahead of a device goes on behind a file's end, in the same request.
ReadClass class_of_nobody(const ReadOrigin& origin, const OwnedPart& part, bool with_data) {
  if (part.planned) {
    return ReadClass::gaps;
  }
  if (origin.device_page && !origin.metadata && with_data) {
    return ReadClass::read_ahead;
  }
  return origin.metadata || origin.device_page ? ReadClass::metadata : ReadClass::elsewhere;
}

template <class Key>
using Tallies = std::unordered_map<Key, Tally>;

// Most bytes first, and of equal ones by their keys.
template <class Key, class Row, class MakeRow>
std::vector<Row> most_of(const Tallies<Key>& tallies, MakeRow make_row) {
  std::vector<std::pair<Key, ReadTraffic>> all;
  for (const auto& [key, tally] : tallies) {
    all.emplace_back(key, tally.traffic);
  }
  const std::size_t kept = std::min(all.size(), kMostPaths);
  std::ranges::partial_sort(
      all, all.begin() + static_cast<std::ptrdiff_t>(kept), [](const auto& a, const auto& b) {
        return a.second.bytes != b.second.bytes ? a.second.bytes > b.second.bytes
                                                : a.first < b.first;
      });
  std::vector<Row> rows;
  for (std::size_t i = 0; i < kept; ++i) {
    rows.push_back(make_row(all[i].first, all[i].second));
  }
  return rows;
}

class Account {
 public:
  explicit Account(const AttributionQuestion& question) : question_(question) {}

  void add(const ProbeIssue& read) {
    const std::uint64_t begin = read.sector * kSectorBytes;
    parts_.clear();
    question_.map.append_parts({begin, begin + read.bytes}, parts_);
    const std::vector<ReadClass> classes = classes_of(read.origin, parts_, question_.ours);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      add_part(read, parts_[i], classes[i]);
    }
    processes_[read.origin.process].add(read, number_, read.bytes);
    first_ns_.try_emplace(read.origin.process, read.at_ns);
    if (read.latency_ns) {
      const auto ns = static_cast<std::uint64_t>(*read.latency_ns);
      ++latency_[{std::bit_floor(std::uint64_t{read.bytes}), latency_step(ns)}];
    }
    ++number_;
  }

  Attribution finish() && {
    Attribution out;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      out.classes[i] = classes_[i].traffic;
    }
    out.files = most_of<std::uint32_t, PathTraffic>(files_, [&](auto file, const auto& traffic) {
      return PathTraffic{std::string(question_.catalog.path(file)), traffic};
    });
    out.folders = most_of<std::string_view, PathTraffic>(folders_, [](auto path, const auto& t) {
      return PathTraffic{std::string(path), t};
    });
    out.extents = most_of<std::size_t, ExtentTraffic>(
        extents_, [&](std::size_t index, const auto& t) { return extent_traffic(index, t); });
    out.processes =
        most_of<std::uint32_t, ProcessTraffic>(processes_, [&](auto process, const auto& t) {
          return ProcessTraffic{process, first_ns_.at(process), t};
        });
    for (const auto& [file, tally] : files_) {
      out.read_files.push_back(file);
    }
    for (const auto& [place, requests] : latency_) {
      out.latency.push_back({place.first, place.second, requests});
    }
    return out;
  }

 private:
  void add_part(const ProbeIssue& read, const OwnedPart& part, ReadClass kind) {
    classes_[static_cast<std::size_t>(kind)].add(read, number_, part.bytes());
    if (part.file != kNobody) {
      files_[part.file].add(read, number_, part.bytes());
      extents_[extent_of(part)].add(read, number_, part.bytes());
      folders_[folder_of(question_.catalog.path(part.file))].add(read, number_, part.bytes());
    }
  }

  // A part lies within one extent: stretches do.
  std::size_t extent_of(const OwnedPart& part) const {
    const Catalog& c = question_.catalog;
    const auto from = c.extents_from(part.file, part.file_offset);
    return static_cast<std::size_t>(from.data() - c.extents.data());
  }

  ExtentTraffic extent_traffic(std::size_t index, const ReadTraffic& traffic) const {
    const Catalog& c = question_.catalog;
    const ExtentRecord& e = c.extents[index];
    return {std::string(c.path(e.file)), e.file_offset, c.partition_start + e.device_offset,
            e.length, traffic};
  }

  const AttributionQuestion& question_;
  std::size_t number_ = 0;
  std::vector<OwnedPart> parts_;
  std::array<Tally, kReadClasses.size()> classes_;
  Tallies<std::uint32_t> files_, processes_;
  std::unordered_map<std::uint32_t, std::int64_t> first_ns_;  // by process
  Tallies<std::string_view> folders_;
  Tallies<std::size_t> extents_;  // by their number in the catalog
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> latency_;
};

}  // namespace

const char* to_string(ReadClass kind) {
  switch (kind) {
    case ReadClass::samples:
      return "samples";
    case ReadClass::read_ahead:
      return "read_ahead";
    case ReadClass::gaps:
      return "gaps";
    case ReadClass::metadata:
      return "metadata";
    case ReadClass::other:
      return "other";
    case ReadClass::elsewhere:
      break;
  }
  return "elsewhere";
}

std::optional<double> ReadTraffic::latency_mean_ns() const {
  return completed == 0
             ? std::nullopt
             : std::optional(static_cast<double>(latency_ns) / static_cast<double>(completed));
}

std::vector<ReadClass> classes_of(const ReadOrigin& origin, std::span<const OwnedPart> parts,
                                  std::span<const std::uint32_t> ours) {
  if (made_by_others(origin, ours)) {
    return std::vector<ReadClass>(parts.size(), ReadClass::other);
  }
  const bool with_data =
      std::ranges::any_of(parts, [](const OwnedPart& p) { return p.file != kNobody || p.planned; });
  std::vector<ReadClass> out;
  for (const OwnedPart& p : parts) {
    if (p.file == kNobody) {
      out.push_back(class_of_nobody(origin, p, with_data));
    } else {
      out.push_back(p.sample == kNobody ? ReadClass::read_ahead : ReadClass::samples);
    }
  }
  return out;
}

Attribution attribute(const AttributionQuestion& question, std::span<const ProbeIssue> reads) {
  Account account(question);
  for (const ProbeIssue& read : reads) {
    account.add(read);
  }
  return std::move(account).finish();
}

}  // namespace blksweep
