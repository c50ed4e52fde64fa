#include "os/block/numa.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "os/block/device_layers.h"
#include "os/file/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestStack = 8;  // loop devices on filesystems on loop devices ...

std::optional<unsigned> node_in(const fs::path& file) {
  const std::string text = first_line(file);
  unsigned node = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  return error == std::errc() ? std::optional(node) : std::nullopt;  // -1: on none
}

std::optional<unsigned> node_of_hardware(const fs::path& device, const fs::path& top) {
  std::error_code ec;
  const fs::path end = fs::canonical(top, ec);
  for (fs::path at = fs::canonical(device, ec); !ec && at != end && at.has_relative_path();
       at = at.parent_path()) {
    if (fs::exists(at / "numa_node", ec)) {
      return node_in(at / "numa_node");
    }
  }
  return std::nullopt;
}

std::optional<unsigned> node_of(const fs::path& sys, const std::string& disk, int depth) {
  const fs::path block = sys / "block";
  if (const auto node = node_of_hardware(block / disk / "device", sys); node || depth == 0) {
    return node;
  }
  std::optional<unsigned> common;
  for (const std::string& lower : disks_beneath(disk, sys)) {
    const auto node = node_of(sys, lower, depth - 1);
    if (!node || (common && common != node)) {
      return std::nullopt;
    }
    common = node;
  }
  return common;
}

}  // namespace

std::optional<unsigned> numa_node_of(const std::string& disk, const std::string& sys) {
  return node_of(sys, disk, kDeepestStack);
}

std::optional<unsigned> numa_node_of_pci(const std::string& address, const std::string& sys) {
  constexpr std::size_t kKernelLength = 12;  // of a domain with four digits, as nearly all have
  std::string name = address.substr(address.size() > kKernelLength && address.starts_with("0000")
                                        ? address.size() - kKernelLength
                                        : 0);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.empty() || name.find('/') != std::string::npos
             ? std::nullopt
             : node_in(fs::path(sys) / "bus/pci/devices" / name / "numa_node");
}

}  // namespace blksweep
