#include "cli/report/maps.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/units.h"

namespace blksweep {

std::string maps_text(const std::vector<StoredMap>& maps) {
  Table table;
  table.column("map");
  table.column("device", Table::Align::left);
  for (const char* title : {"size", "path", "rotation"}) {
    table.column(title);
  }
  const auto duration = [](const Maybe<double>& ns) {
    return ns ? format_duration(Nanos(static_cast<std::int64_t>(*ns))) : std::string("-");
  };
  for (const StoredMap& m : maps) {
    const LatencyMap& map = m.record.map;
    table.row({std::to_string(m.id), map.device + (map.interrupted ? " (interrupted)" : ""),
               format_bytes({map.size}), duration(m.record.path_ns),
               duration(m.record.rotation_ns)});
  }
  return table.text();
}

Json maps_json(const std::vector<StoredMap>& maps) {
  Json out = Json::array();
  for (const StoredMap& m : maps) {
    out.push_back({{"map_id", m.id},
                   {"device", m.record.map.device},
                   {"size_bytes", m.record.map.size},
                   {"interrupted", m.record.map.interrupted},
                   {"path_ns", or_null(m.record.path_ns)},
                   {"rotation_ns", or_null(m.record.rotation_ns)}});
  }
  return out;
}

}  // namespace blksweep
