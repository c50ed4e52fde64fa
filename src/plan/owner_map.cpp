#include "plan/owner_map.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

namespace blksweep {
namespace {

// Sample numbers by file and place in it; most catalogs have them so.
std::vector<std::uint32_t> samples_by_file(const Catalog& catalog) {
  std::vector<std::uint32_t> order(catalog.samples());
  std::iota(order.begin(), order.end(), 0U);
  const auto place = [&](std::uint32_t n) {
    const Sample s = catalog.sample(n);
    return std::tuple(s.file, s.offset, n);
  };
  if (!std::ranges::is_sorted(order, {}, place)) {
    std::ranges::sort(order, {}, place);
  }
  return order;
}

// Sorted ranges that overlap or touch become one.
void unite(std::vector<ByteRange>& ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  std::size_t kept = 0;
  for (const ByteRange& r : ranges) {
    if (kept > 0 && r.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, r.end);
    } else {
      ranges[kept++] = r;
    }
  }
  ranges.resize(kept);
}

// Of ranges in order and disjoint: the first that ends behind `at`.
template <class Range>
auto first_behind(const std::vector<Range>& ranges, std::uint64_t at) {
  return std::ranges::upper_bound(ranges, at, {}, &Range::end);
}

}  // namespace

OwnerMap::OwnerMap(const Catalog& catalog) {
  const std::vector<std::uint32_t> order = samples_by_file(catalog);
  std::vector<SampleRange> samples;
  auto next = order.begin();
  for (std::uint32_t file = 0; file < catalog.files.size(); ++file) {
    samples.clear();
    std::uint64_t covered = 0;
    for (; next != order.end() && catalog.sample(*next).file == file; ++next) {
      const Sample s = catalog.sample(*next);
      const std::uint64_t begin = std::max(s.offset, covered);
      if (begin < s.offset + s.length) {
        covered = s.offset + s.length;
        samples.push_back({begin, covered, *next});
      }
    }
    for (const ExtentRecord& e : catalog.extents_of(file)) {
      if (e.has_address() && (e.flags & kExtentEncoded) == 0) {
        add_extent(e, catalog.partition_start, samples);
      }
    }
  }
  sort_apart();
}

OwnerMap::OwnerMap(const Catalog& catalog, const Plan& plan) : OwnerMap(catalog) {
  for (const Read& r : plan.reads) {
    if (r.source == kFromDevice) {
      const std::uint64_t at = catalog.partition_start + r.offset;
      planned_.push_back({at, at + r.length});
    }
  }
  unite(planned_);
}

void OwnerMap::add_stretch(const ExtentRecord& e, std::uint64_t partition_start,
                           const SampleRange& range) {
  const std::uint64_t at = partition_start + e.device_offset + (range.begin - e.file_offset);
  stretches_.push_back({at, at + (range.end - range.begin), range.begin, e.file, range.sample});
}

void OwnerMap::add_extent(const ExtentRecord& e, std::uint64_t partition_start,
                          const std::vector<SampleRange>& samples) {
  // What is allocated and not written holds nobody's bytes yet.
  const bool written = (e.flags & kExtentUnwritten) == 0;
  std::uint64_t at = e.file_offset;
  for (auto s = first_behind(samples, at); s != samples.end() && s->begin < e.file_end(); ++s) {
    const std::uint64_t begin = std::max(s->begin, at), end = std::min(s->end, e.file_end());
    if (at < begin) {
      add_stretch(e, partition_start, {at, begin, kNobody});
    }
    add_stretch(e, partition_start, {begin, end, written ? s->sample : kNobody});
    at = end;
  }
  if (at < e.file_end()) {
    add_stretch(e, partition_start, {at, e.file_end(), kNobody});
  }
}

// Where several say that bytes are theirs, the one that begins first has them.
void OwnerMap::sort_apart() {
  std::ranges::sort(stretches_, {}, [](const Stretch& s) { return std::tuple(s.begin, s.file); });
  std::uint64_t covered = 0;
  for (Stretch& s : stretches_) {
    const std::uint64_t begin = std::min(std::max(s.begin, covered), s.end);
    s.file_offset += begin - s.begin;
    s.begin = begin;
    covered = std::max(covered, s.end);
  }
  std::erase_if(stretches_, [](const Stretch& s) { return s.begin == s.end; });
}

void OwnerMap::append_nobody(const ByteRange& range, std::vector<OwnedPart>& out) const {
  OwnedPart part;
  part.begin = range.begin;
  for (auto p = first_behind(planned_, range.begin); part.begin < range.end;) {
    const bool any = p != planned_.end() && p->begin < range.end;
    part.planned = any && p->begin <= part.begin;
    part.end = part.planned ? std::min(p->end, range.end) : (any ? p->begin : range.end);
    out.push_back(part);
    part.begin = part.end;
    p += part.planned ? 1 : 0;
  }
}

void OwnerMap::append_parts(const ByteRange& range, std::vector<OwnedPart>& out) const {
  std::uint64_t at = range.begin;
  for (auto s = first_behind(stretches_, at); s != stretches_.end() && s->begin < range.end; ++s) {
    if (at < s->begin) {
      append_nobody({at, s->begin}, out);
    }
    const std::uint64_t begin = std::max(at, s->begin), end = std::min(s->end, range.end);
    out.push_back({begin, end, s->file_offset + (begin - s->begin), s->file, s->sample, false});
    at = end;
  }
  if (at < range.end) {
    append_nobody({at, range.end}, out);
  }
}

}  // namespace blksweep
