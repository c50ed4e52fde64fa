// JSON documents as text and back: nlohmann's parser and writer, compiled once.
//
// Objects keep the order in which keys were added. Bytes that are not UTF-8 (file names) are
// replaced by U+FFFD in the text, never an exception.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace blksweep {

using Json = nlohmann::ordered_json;

// A document that is no JSON: is_discarded().
Json parse_json(std::string_view text);
// For what a stranger's database may hold: empty where it is no object.
Json parse_object(std::string_view text);

// null where nothing is known, or where a text has nothing to say.
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
inline Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string json_line(const Json& document);  // without spaces or a newline
std::string json_text(const Json& document);  // two-space indentation, no newline at the end

}  // namespace blksweep
