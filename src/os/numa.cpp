#include "os/numa.h"

#include <charconv>
#include <filesystem>
#include <vector>

#include "os/blockdev.h"
#include "os/file.h"

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

// The disks that this one is made of.
std::vector<std::string> below(const fs::path& block, const std::string& disk) {
  std::vector<std::string> disks;
  std::error_code ec;
  for (const auto& slave : fs::directory_iterator(block / disk / "slaves", ec)) {
    const fs::path real = fs::canonical(slave.path(), ec);
    disks.push_back(fs::exists(real / "partition", ec) ? real.parent_path().filename().string()
                                                       : real.filename().string());
  }
  const std::string backing = first_line(block / disk / "loop/backing_file");
  if (const auto device =
          backing.empty() ? Result<BlockDevice>(fail("")) : block_device_of(backing)) {
    disks.push_back(device->disk);
  }
  return disks;
}

std::optional<unsigned> node_of(const fs::path& sys, const std::string& disk, int depth) {
  const fs::path block = sys / "block";
  if (const auto node = node_of_hardware(block / disk / "device", sys); node || depth == 0) {
    return node;
  }
  std::optional<unsigned> common;
  for (const std::string& lower : below(block, disk)) {
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

}  // namespace blksweep
