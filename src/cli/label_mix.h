// --label-mix of plan and simulate, as an option.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/command.h"
#include "experiment/window_search.h"

namespace blksweep {

// Sets question.label_mix.
void add_label_mix(Command app, WindowQuestion& question);
// 1 to 1000.
Result<std::uint32_t> parse_seeds(std::string_view text);

}  // namespace blksweep
