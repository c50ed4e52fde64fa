#include "lab/cold_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace blksweep {
namespace {

constexpr double kColdShare = 0.001;       // more than this resident is not cold
constexpr double kColdDeviceShare = 0.99;  // statistics round to sectors, and lag by a request

// Bytes of [from, to) of a file that come from the device and from nowhere else.
std::uint64_t plain_bytes(const Catalog& catalog, std::uint32_t file, std::uint64_t from,
                          std::uint64_t to) {
  const auto all = catalog.extents_of(file);
  to = std::min(to, catalog.files[file].size);
  std::uint64_t sum = 0;
  auto it = std::ranges::upper_bound(all, from, {}, &ExtentRecord::file_end);
  for (; it != all.end() && it->file_offset < to; ++it) {
    const std::uint64_t begin = std::max(from, it->file_offset);
    const std::uint64_t end = std::min(to, it->file_end());
    sum += it->on_device() && end > begin ? end - begin : 0;
  }
  return sum;
}

std::uint64_t bytes_of_reads(const Catalog& catalog, const Plan& plan) {
  std::uint64_t sum = 0;
  for (const Read& r : plan.reads) {
    if (r.source == kFromDevice) {
      sum += r.length;
    } else if (r.source != kZeros) {
      sum += plain_bytes(catalog, r.source, r.offset, r.offset + r.length);
    }
  }
  return sum;
}

// Each byte once, also of samples that overlap.
std::uint64_t bytes_of_samples(const Catalog& catalog) {
  std::vector<std::uint32_t> order(catalog.samples());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const Sample s = catalog.sample(i);
    return std::pair(s.file, s.offset);
  });
  std::uint64_t sum = 0, seen = 0;
  std::uint32_t file = kNoLabel;
  for (const std::uint32_t i : order) {
    const Sample s = catalog.sample(i);
    seen = s.file == file ? seen : 0;
    file = s.file;
    const std::uint64_t end = s.offset + s.length;
    if (end > seen) {
      sum += plain_bytes(catalog, s.file, std::max(seen, s.offset), end);
      seen = end;
    }
  }
  return sum;
}

}  // namespace

std::uint64_t expected_device_bytes(const Catalog& catalog, const Plan& plan, bool direct) {
  return direct ? bytes_of_reads(catalog, plan) : bytes_of_samples(catalog);
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

ColdVerdict judge_cold(const ColdStart& s) {
  ColdVerdict v;
  if (s.bytes > 0 && !s.resident) {
    v.incomplete = "not known to be cold: " + s.unexamined;
  } else if (s.bytes > 0 && *s.resident > kColdShare + s.pinned_share) {
    v.incomplete = fmt::format("not cold: {:.2f} % of the data was resident", *s.resident * 100);
  }
  const std::uint64_t held = s.direct ? 0 : s.pinned_bytes;  // direct reads pass pages by
  if (s.device_bytes && static_cast<double>(*s.device_bytes + held) <
                            kColdDeviceShare * static_cast<double>(s.expected)) {
    const std::string text = fmt::format(
        "cold, but the device read {} of the {} that only it could give: a cache held the rest",
        format_bytes({*s.device_bytes}), format_bytes({s.expected}));
    if (s.direct) {
      v.incomplete += (v.incomplete.empty() ? "" : "; ") + text;
    } else {
      v.warning = text;
    }
  }
  return v;
}

}  // namespace blksweep
