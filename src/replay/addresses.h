// Where on a device the volumes of a block trace go.
//
// as_is:   a volume's own addresses; of several volumes they overlap.
// wrap:    what lies beyond the end begins again at 0.
// scale:   all addresses by one factor, so that the furthest end is the device's.
// stack:   volumes one behind the other, each as long as its trace reaches; neighbours stay.
// Outside: a read that does not lie on the device whole has no place; the caller counts it.
// Units:   bytes. Places are rounded outwards to `align`; scaled and stacked ones begin at 4 KiB.
// Threads: immutable after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_range.h"
#include "base/result.h"

namespace blksweep {

enum class AddressMode : std::uint8_t { as_is, wrap, scale, stack };
Result<AddressMode> parse_address_mode(std::string_view text);
std::string_view to_string(AddressMode mode);

struct DeviceSpace {
  std::uint64_t bytes = 0;
  std::uint32_t align = 512;  // of direct reads
};

class AddressMap {
 public:
  // `volume_ends`: one past the last byte that the trace names, by volume.
  AddressMap(AddressMode mode, const std::vector<std::uint64_t>& volume_ends, DeviceSpace device);

  // REQUIRES: bytes > 0, volume < volume_ends.size().
  std::optional<ByteRange> place(std::uint32_t volume, std::uint64_t offset,
                                 std::uint64_t bytes) const;

 private:
  std::uint64_t begin_of(std::uint32_t volume, std::uint64_t offset) const;

  AddressMode mode_;
  DeviceSpace device_;
  std::vector<std::uint64_t> bases_;  // stack: by volume
  std::uint64_t furthest_ = 0;        // the greatest end
};

}  // namespace blksweep
