#include "plan/merge_reads.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace blksweep {
namespace {

// read(2), "On Linux, read() (and similar system calls) will transfer at most 0x7ffff000 bytes".
constexpr std::uint64_t kMaxKernelRead = 0x7FFFF000;

// Device first by address, then files by offset, holes last: they cost no I/O.
std::tuple<int, std::uint32_t, std::uint64_t> horizon_key(const Segment& s) {
  const int kind = s.source == kFromDevice ? 0 : s.source == kZeros ? 2 : 1;
  return {kind, s.source, s.begin};
}

bool before(const Segment& a, const Segment& b) {
  if (a.source == b.source) {
    return a.begin < b.begin;
  }
  return horizon_key(a) < horizon_key(b);
}

}  // namespace

std::uint32_t ReadBuilder::max_bytes(const MergeSettings& settings) {
  const std::uint64_t limit = std::min(settings.max.n, kMaxKernelRead);
  const std::uint64_t align = settings.align;
  return static_cast<std::uint32_t>(std::max(align_down(limit, align), align));
}

ReadBuilder::ReadBuilder(Plan& plan, const MergeSettings& settings)
    : plan_(plan), settings_(settings), max_(max_bytes(settings)) {
  plan_.first_piece.push_back(0);
}

void ReadBuilder::add(const Segment& segment) {
  if (settings_.merge != Merge::device || settings_.horizon.n == 0) {
    place(segment);
    return;
  }
  horizon_.push_back(segment);
  horizon_bytes_ += segment.length;
  if (horizon_bytes_ >= settings_.horizon.n) {
    flush_horizon();
  }
}

void ReadBuilder::finish() {
  flush_horizon();
  sort_group();
  if (!plan_.reads.empty()) {
    plan_.first_piece.push_back(static_cast<std::uint32_t>(plan_.pieces.size()));
  }
}

void ReadBuilder::place(const Segment& segment) {
  Segment rest = segment;
  while (rest.length > max_) {
    Segment part = rest;
    part.length = max_;
    place_part(part);
    rest.length -= max_;
    rest.begin += rest.source == kZeros ? 0 : max_;
    rest.address += rest.address == kUnknownAddress ? 0 : max_;
    rest.parcel_offset += max_;
  }
  place_part(rest);
}

void ReadBuilder::place_part(const Segment& part) {
  const bool coalesce = settings_.merge == Merge::file || settings_.merge == Merge::device;
  if (coalesce && joins(part)) {
    append(part);
    return;
  }
  if (settings_.merge == Merge::kernel) {
    if (addresses_.size() >= std::max(settings_.batch, 1U)) {
      sort_group();
    }
    addresses_.push_back(part.address);
  }
  start_read(part);
}

// Overlap (a shared extent wanted twice, or a block that two samples have in common but may not
// share) is read again: a byte of a read lands in one place only.
bool ReadBuilder::joins(const Segment& part) const {
  if (plan_.reads.empty() || part.source == kZeros) {
    return false;
  }
  const Read& open = plan_.reads.back();
  return open.source == part.source && part.begin >= end_ && part.begin - end_ <= settings_.gap.n &&
         part.begin + part.length - open.offset <= max_ &&
         plan_.pieces.size() - plan_.first_piece.back() < kMaxPieces;
}

void ReadBuilder::append(const Segment& part) {
  Read& open = plan_.reads.back();
  Piece& last = plan_.pieces.back();
  const auto at = static_cast<std::uint32_t>(part.begin - open.offset);
  if (last.parcel == part.parcel && last.read_offset + last.length == at &&
      last.parcel_offset + last.length == part.parcel_offset) {
    last.length += part.length;
  } else {
    plan_.pieces.push_back({part.parcel, part.parcel_offset, at, part.length});
  }
  open.length = at + part.length;
  end_ = part.begin + part.length;
}

void ReadBuilder::start_read(const Segment& part) {
  if (!plan_.reads.empty()) {
    plan_.first_piece.push_back(static_cast<std::uint32_t>(plan_.pieces.size()));
  }
  plan_.reads.push_back({part.begin, part.length, part.source});
  plan_.pieces.push_back({part.parcel, part.parcel_offset, 0, part.length});
  end_ = part.begin + part.length;
}

// kernel: the newest reads, one piece each, sorted by address; unknown addresses keep their order
// behind the others.
void ReadBuilder::sort_group() {
  if (std::ranges::is_sorted(addresses_)) {
    addresses_.clear();
    return;
  }
  const std::size_t n = addresses_.size();
  const std::size_t begin = plan_.reads.size() - n;
  std::vector<std::uint32_t> by_address(n);
  std::iota(by_address.begin(), by_address.end(), 0U);
  std::ranges::stable_sort(by_address, {}, [this](std::uint32_t i) { return addresses_[i]; });
  const std::vector<Read> reads(plan_.reads.end() - static_cast<std::ptrdiff_t>(n),
                                plan_.reads.end());
  const std::vector<Piece> pieces(plan_.pieces.end() - static_cast<std::ptrdiff_t>(n),
                                  plan_.pieces.end());
  for (std::size_t i = 0; i < n; ++i) {
    plan_.reads[begin + i] = reads[by_address[i]];
    plan_.pieces[begin + i] = pieces[by_address[i]];
  }
  addresses_.clear();
}

void ReadBuilder::flush_horizon() {
  if (!std::ranges::is_sorted(horizon_, before)) {
    std::ranges::stable_sort(horizon_, before);
  }
  for (const Segment& s : horizon_) {
    place(s);
  }
  horizon_.clear();
  horizon_bytes_ = 0;
}

}  // namespace blksweep
