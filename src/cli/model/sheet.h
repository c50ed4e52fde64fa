// The data sheet of a device model: what it answers by analysis and by simulation, without any I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/disk_model.h"
#include "store/export/json.h"

namespace blksweep {

struct SheetSettings {
  Bytes size{std::uint64_t{8} << 30};
  Bytes request{4096};
  std::vector<std::uint32_t> depths{1, 2, 4, 8, 16, 32, 64};
  std::uint32_t reads = 4000;  // simulated at each depth, uniform over the device
  std::uint64_t seed = 1;
};

struct DepthRow {
  std::uint32_t depth = 1;
  std::optional<double> reads_per_s;  // nothing: the model takes no time
  double mean_ns = 0;                 // of a read, waiting included
};

struct ModelSheet {
  ModelSpec spec;
  SheetSettings settings;
  ModelFacts facts;
  std::vector<DepthRow> random;
};

// A usage error when a request does not fit into the device.
Result<ModelSheet> model_sheet(const ModelSpec& spec, const SheetSettings& settings);
std::string sheet_text(const ModelSheet& sheet);
Json sheet_json(const ModelSheet& sheet);

}  // namespace blksweep
