// Segments: where the aligned blocks of one sample can be read from.
//
// for_each_segment walks the extents of a file under an aligned range [from, to) and hands out
// consecutive segments that cover it: from the device where the extent allows it, zeros for holes
// that contain whole blocks, the file for everything else.
//
// Units:   bytes; from, to and every segment are multiples of `align`.
// Threads: read only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/plan.h"

namespace blksweep {

struct Segment {
  std::uint64_t begin;    // in the source
  std::uint64_t address;  // on the device, for sorting; kUnknownAddress when there is none
  std::uint32_t length;
  std::uint32_t source;         // as Read.source
  std::uint32_t parcel;         // filled in by the caller
  std::uint32_t parcel_offset;  // relative to the walk's base
};
static_assert(sizeof(Segment) == 32);

inline constexpr std::uint64_t kUnknownAddress = ~std::uint64_t{0};

struct SegmentRules {
  std::uint64_t align = 1;
  std::uint64_t min_hole = 1;  // smaller holes are read through the file
  bool device = false;         // extents may be read from the device
  bool split_extents = false;  // file segments end where extents end
};

struct SegmentRange {
  std::uint32_t file;
  std::uint64_t base;  // file offset of parcel offset 0
  std::uint64_t from;
  std::uint64_t to;
};

// One walk; a class only because its state is shared by the steps below.
template <class Emit>
class SegmentWalk {
 public:
  SegmentWalk(const SegmentRules& rules, const SegmentRange& range, Emit& emit)
      : rules_(rules), range_(range), emit_(emit), run_(range.from), data_end_(range.from) {}

  void extent(const ExtentRecord& e) {
    hole_until(e.file_offset);
    if (rules_.device && e.on_device() && congruent(e)) {
      from_device(e);
    } else if (rules_.split_extents && e.file_offset > run_ && aligned(e.file_offset)) {
      flush(e.file_offset);
    }
    if (run_address_ == kUnknownAddress && e.has_address()) {
      run_address_ = e.address_of(std::max(run_, e.file_offset));
    }
    data_end_ = std::max(data_end_, e.file_end());
  }

  void finish() {
    hole_until(range_.to);
    flush(range_.to);
  }

 private:
  bool aligned(std::uint64_t n) const { return (n & (rules_.align - 1)) == 0; }
  bool congruent(const ExtentRecord& e) const { return aligned(e.device_offset - e.file_offset); }

  // The hole between the data seen so far and `next`; only its whole blocks count.
  void hole_until(std::uint64_t next) {
    const std::uint64_t begin = align_up(std::max(data_end_, run_), rules_.align);
    const std::uint64_t end = align_down(std::min(next, range_.to), rules_.align);
    if (end > begin && end - begin >= rules_.min_hole) {
      flush(begin);
      put({0, kUnknownAddress, length(begin, end), kZeros, 0, offset(begin)}, end);
    }
  }

  void from_device(const ExtentRecord& e) {
    const std::uint64_t begin = std::max(run_, align_up(e.file_offset, rules_.align));
    const std::uint64_t end = std::min(range_.to, align_down(e.file_end(), rules_.align));
    if (end > begin) {
      flush(begin);
      const std::uint64_t at = e.device_offset + (begin - e.file_offset);
      put({at, at, length(begin, end), kFromDevice, 0, offset(begin)}, end);
    }
  }

  // What has been passed but not handed out is read through the file.
  void flush(std::uint64_t end) {
    if (end > run_) {
      put({run_, run_address_, length(run_, end), range_.file, 0, offset(run_)}, end);
    }
  }

  void put(const Segment& s, std::uint64_t end) {
    emit_(s);
    run_ = end;
    run_address_ = kUnknownAddress;
  }

  static std::uint32_t length(std::uint64_t begin, std::uint64_t end) {
    return static_cast<std::uint32_t>(end - begin);
  }
  std::uint32_t offset(std::uint64_t begin) const { return length(range_.base, begin); }

  const SegmentRules& rules_;
  const SegmentRange& range_;
  Emit& emit_;
  std::uint64_t run_;       // begin of what is not handed out yet
  std::uint64_t data_end_;  // end of the extents seen so far
  std::uint64_t run_address_ = kUnknownAddress;
};

template <class Emit>
void for_each_segment(const Catalog& catalog, const SegmentRules& rules, const SegmentRange& range,
                      Emit&& emit) {
  SegmentWalk<Emit> walk(rules, range, emit);
  for (const ExtentRecord& e : catalog.extents_from(range.file, range.from)) {
    if (e.file_offset >= range.to) {
      break;
    }
    walk.extent(e);
  }
  walk.finish();
}

}  // namespace blksweep
