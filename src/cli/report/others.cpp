#include "cli/report/others.h"

namespace blksweep {

Result<Others> load_others(ResultReader& reader) {
  BLKSWEEP_TRY(const auto experiments, reader.experiments());
  Others others;
  others.runs = !experiments.empty();
  BLKSWEEP_TRY(others.maps, reader.maps());
  BLKSWEEP_TRY(others.replays, reader.replays());
  BLKSWEEP_TRY(others.traces, reader.traces());
  BLKSWEEP_TRY(others.ranks, reader.ranks());
  return others;
}

std::string others_text(const Others& others) {
  std::string text = others.maps.empty() || others.runs ? "" : maps_text(others.maps);
  if (!others.replays.empty()) {
    text += (text.empty() && !others.runs ? "" : "\n") + replays_text(others.replays);
  }
  if (!others.traces.empty()) {
    text += (text.empty() && !others.runs ? "" : "\n") + traces_text(others.traces);
  }
  if (!others.ranks.empty()) {
    text += (text.empty() && !others.runs ? "" : "\n") + ranks_text(others.ranks);
  }
  return text;
}

}  // namespace blksweep
