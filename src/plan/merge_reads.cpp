#include "plan/merge_reads.h"

#include <algorithm>
#include <span>

namespace blksweep {
namespace {

// read(2), "On Linux, read() (and similar system calls) will transfer at most 0x7ffff000 bytes".
constexpr std::uint64_t kMaxKernelRead = 0x7FFFF000;

// Device first by address, then files by number and offset, holes last: they cost no I/O. Two keys,
// because a file and an offset do not fit into one.
std::uint64_t kind_key(const Segment& s) {
  return s.source == kFromDevice ? 0 : std::uint64_t{s.source} + 1;
}

std::uint64_t begin_key(const Segment& s) { return s.begin; }

template <class Key>
void sort_by(std::span<const Segment> segments, std::span<SortKey> keys,
             std::vector<SortKey>& scratch, Key key) {
  for (SortKey& k : keys) {
    k.key = key(segments[k.index]);
  }
  sort_keys(keys, scratch);
}

}  // namespace

std::uint32_t ReadBuilder::max_bytes(const MergeSettings& settings) {
  const std::uint64_t limit =
      settings.whole ? kMaxKernelRead : std::min(settings.max.n, kMaxKernelRead);
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
  if (horizon_bytes_ + segment.length > settings_.horizon.n) {
    flush_horizon();
  }
  horizon_.push_back(segment);
  horizon_bytes_ += segment.length;
  plan_.horizon_peak = std::max(plan_.horizon_peak, horizon_bytes_);
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
    if (group_.size() >= std::max(settings_.batch, 1U)) {
      sort_group();
    }
    group_.push_back({part.address, static_cast<std::uint32_t>(group_.size()), 0});
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
  sort_keys(group_, scratch_);
  const std::size_t n = group_.size();
  const auto reads = std::span(plan_.reads).last(n);
  const auto pieces = std::span(plan_.pieces).last(n);
  group_reads_.assign(reads.begin(), reads.end());
  group_pieces_.assign(pieces.begin(), pieces.end());
  for (std::size_t i = 0; i < n; ++i) {
    reads[i] = group_reads_[group_[i].index];
    pieces[i] = group_pieces_[group_[i].index];
  }
  group_.clear();
}

void ReadBuilder::flush_horizon() {
  horizon_keys_.resize(horizon_.size());
  for (std::uint32_t i = 0; i < horizon_keys_.size(); ++i) {
    horizon_keys_[i].index = i;
  }
  sort_by(horizon_, horizon_keys_, scratch_, begin_key);
  sort_by(horizon_, horizon_keys_, scratch_, kind_key);
  for (const SortKey& k : horizon_keys_) {
    place(horizon_[k.index]);
  }
  horizon_.clear();
  horizon_bytes_ = 0;
}

}  // namespace blksweep
