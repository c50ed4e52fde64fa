#include "cli/device_argument.h"

#include <filesystem>

#include "os/device_layers.h"

namespace blksweep {
namespace fs = std::filesystem;

Result<BlockDevice> device_of_argument(const std::string& text) {
  std::error_code ec;
  const bool is_name = !text.empty() && text.find('/') == std::string::npos && text != "." &&
                       text != ".." && fs::exists("/sys/class/block/" + text, ec);
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
