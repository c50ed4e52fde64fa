#include "model/latency_map.h"

namespace blksweep {

std::string_view to_string(MapPart part) {
  switch (part) {
    case MapPart::distance:
      return "distance";
    case MapPart::size:
      return "size";
    case MapPart::depth:
      return "depth";
    case MapPart::zone:
      return "zone";
    case MapPart::revisit:
      return "revisit";
    case MapPart::cached:
      break;
  }
  return "cached";
}

std::optional<MapPart> map_part(std::string_view name) {
  for (const MapPart part : kMapParts) {
    if (to_string(part) == name) {
      return part;
    }
  }
  return std::nullopt;
}

}  // namespace blksweep
