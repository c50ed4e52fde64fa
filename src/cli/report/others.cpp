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
  const auto add = [&](const auto& rows, const auto& text_of) {
    if (!rows.empty()) {
      text += (text.empty() && !others.runs ? "" : "\n") + text_of(rows);
    }
  };
  add(others.replays, replays_text);
  add(others.traces, traces_text);
  add(others.ranks, ranks_text);
  return text;
}

}  // namespace blksweep
