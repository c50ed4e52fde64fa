#include "loader/open_plan.h"

namespace blksweep {

OpenPlan make_open_plan(const Plan& plan, std::size_t files, std::uint32_t capacity) {
  constexpr std::uint32_t kNever = 0xFFFFFFFF;
  OpenPlan out;
  out.capacity = capacity;
  out.open_of.resize(plan.reads.size());
  std::vector<std::uint32_t> last_open(files, kNever);
  for (std::size_t r = 0; r < plan.reads.size(); ++r) {
    const std::uint32_t file = plan.reads[r].source;
    if (file == kFromDevice || file == kZeros) {
      continue;
    }
    ++out.reads;
    const auto opens = static_cast<std::uint32_t>(out.files.size());
    const bool still_open = last_open[file] != kNever && last_open[file] + capacity >= opens;
    if (!still_open) {
      last_open[file] = opens;
      out.files.push_back(file);
    }
    out.open_of[r] = last_open[file];
  }
  return out;
}

}  // namespace blksweep
