// Arbitrary bytes as a spec file and as a compute time: no crash, each refusal one line and a usage
// error, and every accepted cell can be described and read back as itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/run/cell_meaning.h"
#include "cli/run/options.h"
#include "cli/run/spec.h"
#include "stage/consumer.h"

namespace blksweep {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

template <class T>
bool refused(const Result<T>& result) {
  if (!result) {
    require(result.error().exit_code == Exit::usage);
    require(!result.error().message().empty());
  }
  return !result;
}

void check_compute(const std::string& text) {
  const auto time = parse_compute_time(text);
  if (refused(time)) {
    return;
  }
  require(time->mean.count() >= 0);
  for (std::uint32_t b = 0; b < 8; ++b) {
    const std::uint32_t samples = 1U << (4 * b);
    require(time->of_batch(b, samples, 1).count() >= 0);
    require(time->of_batch(b, samples, 1) == time->of_batch(b, samples, 1));
  }
}

// How many cells the lists of a spec multiply to; a sweep of millions is the user's to wait for.
bool small(const Spec& spec) {
  std::uint64_t cells = 1;
  const auto multiply = [&cells](const CellText& text) {
    for (const auto& [name, values] : text) {
      cells = cells > 4096 ? cells : cells * values.size();
    }
  };
  multiply(spec.top);
  for (const CellText& cell : spec.cells) {
    multiply(cell);
  }
  for (const MatrixAxis& axis : spec.matrix.axes) {
    cells = cells > 4096 ? cells : cells * axis.values.front().size();
  }
  return cells <= 256 && spec.cells.size() < 64;
}

void check_spec(const std::string& text) {
  auto spec = parse_spec(text, "fuzz.toml");
  if (refused(spec) || !small(*spec)) {
    return;
  }
  if (spec->rig) {  // as campaign.cpp does for a site
    spec->top["data"] = {"folder"};
  }
  if (const Result<> added = add_matrix_cells(*spec, {{"disk", {"d"}}}, {}); !added) {
    require(added.error().exit_code == Exit::usage);
    return;
  }
  const auto options = parse_run_options(*spec, {});
  if (refused(options)) {
    return;
  }
  for (const CellSettings& cell : options->cells) {
    CellText words;
    for (const auto& [name, value] : describe(cell)) {
      if (value != kMeansNothing) {
        words[name] = {value};
      }
    }
    const auto again = expand_cells(words);
    require(again && again->size() == 1 && describe(again->front()) == describe(cell));
  }
}

}  // namespace
}  // namespace blksweep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  blksweep::check_compute(text);
  blksweep::check_spec(text);
  return 0;
}
