// What `map` answers: tables for people, one JSON document for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/latency_map.h"
#include "model/map_facts.h"
#include "model/map_fit.h"

namespace blksweep {

struct MapReport {
  LatencyMap map;
  MapFacts facts;
  std::optional<MapFit> fit;
  std::int64_t id = 0;  // in the database; 0: not stored
  std::string engine;   // that measured
  std::vector<std::string> warnings;
};

std::string map_text(const MapReport& report);
std::string map_json(const MapReport& report);

}  // namespace blksweep
