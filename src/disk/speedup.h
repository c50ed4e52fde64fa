// The speed-up of an emulated disk as text: how fast the model's clock runs against the real one.
#pragma once

#include <string_view>

#include "base/result.h"

namespace blksweep {

Result<double> parse_speedup(std::string_view text);  // 0.001 to 1000

}  // namespace blksweep
