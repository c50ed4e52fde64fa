#include "cli/device_argument.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "os/file.h"

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDeepest = 16;  // of a stack; images on loop devices may stand on each other

void add_below(const std::string& disk, std::vector<std::string>& stack);

void add_disk(const std::string& disk, std::vector<std::string>& stack) {
  if (stack.size() < kDeepest) {
    stack.push_back(disk);
    add_below(disk, stack);
  }
}

void add_below(const std::string& disk, std::vector<std::string>& stack) {
  const std::string folder = "/sys/block/" + disk;
  std::error_code ec;
  std::vector<std::string> slaves;
  for (const auto& entry : fs::directory_iterator(folder + "/slaves", ec)) {
    slaves.push_back(entry.path().filename().string());
  }
  std::ranges::sort(slaves);
  for (const std::string& slave : slaves) {
    add_disk(slave, stack);
  }
  const std::string file = first_line(folder + "/loop/backing_file");
  if (file.empty()) {
    return;
  }
  stack.push_back(file);
  if (const auto device = block_device_of(file)) {
    add_disk(device->disk, stack);
  }
}

}  // namespace

Result<BlockDevice> device_of_argument(const std::string& text) {
  std::error_code ec;
  const bool is_name = !text.empty() && text.find('/') == std::string::npos && text != "." &&
                       text != ".." && fs::exists("/sys/class/block/" + text, ec);
  if (!is_name) {
    return block_device_of(text);
  }
  // The node in /dev may have another name, or there may be none: the kernel's numbers count.
  const std::string numbers = first_line("/sys/class/block/" + text + "/dev");
  std::istringstream in(numbers);
  unsigned maj = 0;
  unsigned min = 0;
  char colon = 0;
  if (!(in >> maj >> colon >> min)) {
    return fail("read /sys/class/block/" + text + "/dev: not a device number");
  }
  return block_device_of_dev(makedev(maj, min));
}

std::vector<std::string> stack_of(const std::string& disk) {
  std::vector<std::string> stack;
  add_disk(disk, stack);
  return stack;
}

}  // namespace blksweep
