#include "cli/device_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "os/block/device_layers.h"
#include "os/file/file.h"

namespace blksweep {
namespace fs = std::filesystem;

namespace {

// Those that have a size: not the loop devices that wait for a file.
std::string disks() {
  std::vector<std::string> names;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator("/sys/block", ec)) {
    if (first_line(entry.path() / "size") != "0") {
      names.push_back(entry.path().filename().string());
    }
  }
  std::ranges::sort(names);
  return joined(names, ", ");
}

}  // namespace

Result<BlockDevice> device_of_argument(const std::string& text) {
  std::error_code ec;
  const bool is_name = !text.empty() && text.find('/') == std::string::npos && text != "." &&
                       text != ".." && fs::exists("/sys/class/block/" + text, ec);
  if (!is_name && text.find('/') == std::string::npos && !fs::exists(text, ec)) {
    return fail(fmt::format("{}: no such disk, file or folder; disks here: {}", text, disks()));
  }
  if (!is_name) {
    return block_device_of(text);
  }
  return block_device_of_name(text);
}

std::vector<std::string> stack_of(const std::string& disk) {
  std::vector<std::string> stack;
  for (const DiskFacts& layer : device_layers(disk)) {
    stack.push_back(layer.disk);
    if (!layer.backing_file.empty()) {
      stack.push_back(layer.backing_file);
    }
  }
  return stack;
}

}  // namespace blksweep
