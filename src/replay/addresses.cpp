#include "replay/addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"

namespace blksweep {
namespace {

constexpr std::array<std::string_view, 4> kModeNames{"as-is", "wrap", "scale", "stack"};

}  // namespace

Result<AddressMode> parse_address_mode(std::string_view text) {
  const auto* const name = std::ranges::find(kModeNames, text);
  if (name == kModeNames.end()) {
    return usage_error(
        fmt::format("'{}' is no way to place addresses: as-is, wrap, scale or stack", text));
  }
  return static_cast<AddressMode>(name - kModeNames.begin());
}

std::string_view to_string(AddressMode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }

AddressMap::AddressMap(AddressMode mode, const std::vector<std::uint64_t>& volume_ends,
                       DeviceSpace device)
    : mode_(mode), device_(device) {
  std::uint64_t base = 0;
  for (const std::uint64_t end : volume_ends) {
    furthest_ = std::max(furthest_, end);
    bases_.push_back(base);
    // Beyond the device nothing has a place: absurd ends must not come around to its beginning.
    base = std::min(device.bytes, base + align_up(std::min(device.bytes, end), kPageBytes));
  }
}

std::uint64_t AddressMap::begin_of(std::uint32_t volume, std::uint64_t offset) const {
  switch (mode_) {
    case AddressMode::as_is:
      return offset;
    case AddressMode::wrap:
      return offset % align_down(device_.bytes, kPageBytes);
    case AddressMode::scale: {
      const double factor = static_cast<double>(device_.bytes) /
                            static_cast<double>(std::max(furthest_, std::uint64_t{1}));
      const double scaled = static_cast<double>(offset) * factor;
      return align_down(static_cast<std::uint64_t>(scaled), kPageBytes);
    }
    case AddressMode::stack:
      return offset > device_.bytes ? device_.bytes : bases_[volume] + offset;
  }
  return offset;
}

std::optional<ByteRange> AddressMap::place(std::uint32_t volume, std::uint64_t offset,
                                           std::uint64_t bytes) const {
  if (bytes > device_.bytes) {
    return std::nullopt;
  }
  const std::uint64_t begin = begin_of(volume, offset);
  if (begin >= device_.bytes) {
    return std::nullopt;
  }
  const std::uint64_t first = align_down(begin, device_.align);
  const std::uint64_t end = align_up(begin + bytes, device_.align);
  if (end <= device_.bytes) {
    return ByteRange{first, end};
  }
  if (mode_ == AddressMode::as_is || mode_ == AddressMode::stack) {
    return std::nullopt;
  }
  // Folded, a read may hang over the end: it is moved back onto the device whole.
  const std::uint64_t length = end - first;
  const std::uint64_t last = align_down(device_.bytes, device_.align);
  return length > last ? std::nullopt
                       : std::optional(ByteRange{align_down(last - length, device_.align), last});
}

}  // namespace blksweep
