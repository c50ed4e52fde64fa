#include "base/json.h"

namespace blksweep {

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

Json parse_object(std::string_view text) {
  Json document = parse_json(text);
  return document.is_object() ? document : Json::object();
}

std::string json_line(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace blksweep
