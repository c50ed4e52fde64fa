#include "experiment/proof/cold_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace blksweep {
namespace {

using ExtentTest = bool (*)(const ExtentRecord&);

constexpr double kColdShare = 0.001;       // more than this resident, bytes or inodes, is not cold
constexpr double kColdDeviceShare = 0.99;  // statistics round to sectors, and lag by a request
// From the device in a warm run: as for a cold one's pages, and a few blocks of metadata beside.
constexpr double kWarmDeviceShare = 0.001;
constexpr std::uint64_t kWarmDeviceBytes = 1U << 20;
constexpr double kWarmMetadataShare = 0.05;  // of small data, where those blocks are few
// Beside memory few bytes are many milliseconds of a disk that seeks: 1 MiB is 256 pages.
constexpr double kWarmRequests = 8;
// The least that btrfs stores of 128 KiB is a block of 4: with less from the device, the page cache
// answered; blocks of metadata are allowed for.
constexpr double kStoredShare = 0.02;

// Bytes of [from, to) of a file in extents of a kind.
std::uint64_t bytes_within(const Catalog& catalog, std::uint32_t file, std::uint64_t from,
                           std::uint64_t to, ExtentTest test) {
  to = std::min(to, catalog.files[file].size);
  std::uint64_t sum = 0;
  for (const ExtentRecord& e : catalog.extents_from(file, from)) {
    const std::uint64_t begin = std::max(from, e.file_offset);
    const std::uint64_t end = std::min(to, e.file_end());
    if (begin >= to) {
      break;
    }
    sum += test(e) && end > begin ? end - begin : 0;
  }
  return sum;
}

std::uint64_t bytes_of_reads(const Catalog& catalog, const Plan& plan, ExtentTest test) {
  std::uint64_t sum = 0;
  for (const Read& r : plan.reads) {
    if (r.source == kFromDevice) {
      sum += r.length;
    } else if (r.source != kZeros) {
      sum += bytes_within(catalog, r.source, r.offset, r.offset + r.length, test);
    }
  }
  return sum;
}

// The same for all names of a file: they share its pages.
std::pair<std::uint64_t, std::int64_t> identity(const Catalog& catalog, std::uint32_t file) {
  return {catalog.files[file].inode, catalog.files[file].ctime_ns};
}

// Each byte once, also of samples that overlap.
std::uint64_t bytes_of_samples(const Catalog& catalog, ExtentTest test) {
  std::vector<std::uint32_t> order(catalog.samples());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const Sample s = catalog.sample(i);
    return std::pair(identity(catalog, s.file), s.offset);
  });
  std::uint64_t sum = 0, seen = 0;
  std::optional<std::pair<std::uint64_t, std::int64_t>> file;
  for (const std::uint32_t i : order) {
    const Sample s = catalog.sample(i);
    seen = identity(catalog, s.file) == file ? seen : 0;
    file = identity(catalog, s.file);
    const std::uint64_t end = s.offset + s.length;
    if (end > seen) {
      sum += bytes_within(catalog, s.file, std::max(seen, s.offset), end, test);
      seen = end;
    }
  }
  return sum;
}

bool read_too_much(const WarmStart& s, std::uint64_t read) {
  const double bytes = static_cast<double>(s.bytes);
  const double metadata =
      std::min(static_cast<double>(kWarmDeviceBytes), kWarmMetadataShare * bytes);
  return static_cast<double>(read) > std::max(metadata, kWarmDeviceShare * bytes);
}

// Of the disk's requests as many as its bytes are ours.
double own_requests(const WarmStart& s, std::uint64_t read) {
  if (!s.requests || s.device_bytes.value_or(0) == 0) {
    return 0;  // not known
  }
  return static_cast<double>(*s.requests) * static_cast<double>(read) /
         static_cast<double>(*s.device_bytes);
}

// What has no address may be stored smaller than it is: then less is no proof of a cache.
std::string unproven(const ColdStart& s) {
  const std::uint64_t held = s.direct ? 0 : s.pinned_bytes;
  const bool less = s.unplaced > 0 && s.own_bytes &&
                    static_cast<double>(*s.own_bytes + held) <
                        kColdDeviceShare * static_cast<double>(s.expected + s.unplaced);
  return !less ? ""
               : fmt::format(
                     "cold, but this run read {} from devices, and {} of its data have no "
                     "address: whether a cache held some of them, or they are stored "
                     "compressed, is not known",
                     format_bytes({*s.own_bytes}), format_bytes({s.unplaced}));
}

}  // namespace

std::uint64_t expected_device_bytes(const Catalog& catalog, const Plan& plan, bool direct) {
  const ExtentTest test = [](const ExtentRecord& e) { return e.on_device(); };
  return direct ? bytes_of_reads(catalog, plan, test) : bytes_of_samples(catalog, test);
}

std::uint64_t unplaced_bytes(const Catalog& catalog) {
  const auto unplaced = [](const ExtentRecord& e) { return (e.flags & kExtentNoAddress) != 0; };
  const bool any = std::ranges::any_of(catalog.extents, unplaced);
  return any ? bytes_of_samples(catalog, unplaced) : 0;
}

std::optional<double> known_share(const Residency& r) {
  return r.unreadable > 0 ? std::nullopt : r.share();
}

std::string unexamined(const Residency& r) {
  return r.unreadable == 0
             ? ""
             : fmt::format("{} of {} files could not be examined: {}", format_count(r.unreadable),
                           format_count(r.files), r.first_error);
}

CacheVerdict judge_cold(const ColdStart& s) {
  CacheVerdict v;
  if (s.bytes > 0 && !s.resident) {
    v.incomplete = "not known to be cold: " + s.unexamined;
  } else if (s.bytes > 0 && *s.resident > kColdShare + s.pinned_share) {
    v.incomplete = fmt::format("not cold: {:.2f} % of the data was resident", *s.resident * 100);
  }
  const std::uint64_t held = s.direct ? 0 : s.pinned_bytes;  // direct reads pass pages by
  const bool elsewhere = s.one_disk && s.own_bytes && s.device_bytes < s.own_bytes;
  const bool own = s.own_bytes && !(elsewhere && s.device_bytes);
  const std::optional<std::uint64_t> read = own ? s.own_bytes : s.device_bytes;
  if (read &&
      static_cast<double>(*read + held) < kColdDeviceShare * static_cast<double>(s.expected)) {
    const std::string text = fmt::format(
        "cold, but {} read {} of the {} that only the device could give: a cache held the rest{}",
        own ? "this run" : "the device", format_bytes({*read}), format_bytes({s.expected}),
        own && !s.direct ? ", or somebody else read it first" : "");
    if (s.direct || s.own_bytes) {
      v.incomplete += (v.incomplete.empty() ? "" : "; ") + text;
    } else {
      v.warning = text;
    }
  } else {
    v.warning = unproven(s);
  }
  return v;
}

CacheVerdict judge_inodes(const InodeHolders& found) {
  if (found.held == 0) {
    return {};
  }
  const InodeHolder& first = found.holders.front();
  const std::size_t others = found.holders.size() - 1;
  const std::string text =
      fmt::format("inodes of {} of {} files stay cached: held open by pid {} ({}){}",
                  format_count(found.held), format_count(found.wanted), first.pid, first.command,
                  others > 0 ? fmt::format(" and {} more", others) : "");
  const bool many =
      static_cast<double>(found.held) > kColdShare * static_cast<double>(found.wanted);
  return {many ? "not cold: " + text : "", text};
}

CacheVerdict judge_warm(const WarmStart& s) {
  const std::uint64_t own = s.own_bytes.value_or(0);
  const std::uint64_t read = s.one_disk ? std::min(own, s.device_bytes.value_or(own)) : own;
  const double requests = own_requests(s, read);
  const bool often =
      requests > std::max(kWarmRequests, kWarmDeviceShare * static_cast<double>(s.reads));
  if (often || read_too_much(s, read)) {
    return {
        fmt::format("not warm: this run read {} from the device for the {} that it delivered{}: "
                    "pages had left the page cache",
                    format_bytes({read}), format_bytes({s.bytes}),
                    often ? fmt::format(", in about {:.0f} requests", requests) : ""),
        ""};
  }
  return {s.resident && *s.resident < 1 - kColdShare
              ? fmt::format("not warm: {:.1f} % of the data was resident when it began",
                            *s.resident * 100)
              : "",
          ""};
}

std::uint64_t indirect_bytes(const Catalog& catalog) {
  std::uint64_t sum = 0;
  for (const ExtentRecord& e : catalog.extents) {
    const std::uint64_t end = std::min(e.file_end(), catalog.files[e.file].size);
    const bool indirect = (e.flags & (kExtentEncoded | kExtentInline)) != 0;
    sum += indirect && end > e.file_offset ? end - e.file_offset : 0;
  }
  return sum;
}

// Pages that came, or were there while less than is stored came from the device, answered.
CacheVerdict judge_direct(const DirectReads& s) {
  const double indirect = static_cast<double>(s.indirect_bytes);
  const double after = s.resident_after.value_or(0);
  const bool came = s.resident_before && after - *s.resident_before > kColdShare;
  const bool unread = s.own_bytes && static_cast<double>(*s.own_bytes) <
                                         kStoredShare * static_cast<double>(s.delivered);
  if (indirect <= kColdShare * static_cast<double>(s.bytes) || after <= kColdShare ||
      (!came && !unread)) {
    return {};
  }
  const std::string text = fmt::format(
      "direct reads went through the page cache, which holds {:.0f} % of the data after the run: "
      "{} of {} are compressed, encrypted or inline, and the filesystem cannot read those directly",
      after * 100, format_bytes({s.indirect_bytes}), format_bytes({s.bytes}));
  return s.cold && s.epochs > 1 ? CacheVerdict{"not cold after the first epoch: " + text, ""}
                                : CacheVerdict{"", text};
}

}  // namespace blksweep
