// Pins as text and JSON for the terminal, and the line of progress.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/pin/pin.h"
#include "node/pin/registry.h"

namespace blksweep {

struct PinForecast {
  std::string name;
  PinKind kind;
  PinCost cost;
  std::uint64_t folders;
  Result<> fits;
};
std::string forecast_text(const PinForecast& forecast);
std::string forecast_json(const PinForecast& forecast);

std::string entry_text(const PinEntry& entry);
std::string entry_json(const PinEntry& entry);
std::string list_text(const std::vector<PinEntry>& entries);
std::string list_json(const std::vector<PinEntry>& entries);

}  // namespace blksweep
