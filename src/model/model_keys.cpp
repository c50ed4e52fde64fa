#include "model/model_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace blksweep {
namespace {

// Added to what may be -0.0, which would be written as "-0" and read back as another number.
constexpr double kPositiveZero = 0.0;

constexpr std::size_t kMost = 4096;  // zones, points of a curve

template <class T>
std::string range_text(const ModelKeys::Want<T>& want, const char* unit) {
  return fmt::format("must be from {}{} to {}{}", want.low, unit, want.high, unit);
}

template <class T>
bool in_range(const ModelKeys::Want<T>& want, T value) {
  return value >= want.low && value <= want.high;
}

}  // namespace

const toml::node* ModelKeys::take(const char* key) {
  taken_.emplace(key);
  return table_.get(key);
}

tl::unexpected<Error> ModelKeys::wrong(const char* key, const std::string& what) const {
  const toml::node* node = table_.get(key);
  const std::string at = node == nullptr ? file_ : toml_place(file_, node->source());
  return usage_error(fmt::format("{}: {}: {} (docs/models.md)", at, key, one_line(what)));
}

tl::unexpected<Error> ModelKeys::missing(const char* key) const {
  return wrong(key, "is missing; this kind of model needs it");
}

Result<std::string> ModelKeys::text_of(const toml::node* node, const char* key) const {
  if (node == nullptr) {
    return missing(key);
  }
  if (const auto* s = node->as_string()) {
    return s->get();
  }
  return wrong(key, "expected a string in quotes");
}

// Names and descriptions go into tables, paths and other files: printable ASCII only.
Result<std::string> ModelKeys::text(const char* key, std::optional<std::string> otherwise) {
  const toml::node* node = take(key);
  if (node == nullptr && otherwise) {
    return *otherwise;
  }
  BLKSWEEP_TRY(std::string value, text_of(node, key));
  const bool printable = std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable || value.size() > kMost) {
    return wrong(key, "expected one short line of plain ASCII");
  }
  return value;
}

Result<double> ModelKeys::duration(const char* key, Want<double> want) {
  const toml::node* node = take(key);
  if (node == nullptr && want.otherwise) {
    return *want.otherwise;
  }
  BLKSWEEP_TRY(const std::string value, text_of(node, key));
  const auto time = parse_duration(value);
  if (!time) {
    return wrong(key, time.error().text);
  }
  const auto ns = static_cast<double>(time->count());
  if (!in_range(want, ns)) {
    return wrong(key, range_text(want, "ns"));
  }
  return ns;
}

Result<double> ModelKeys::rate_of(const toml::node* node, const char* key) const {
  BLKSWEEP_TRY(const std::string value, text_of(node, key));
  const auto rate = parse_rate(value);
  if (!rate) {
    return wrong(key, rate.error().text);
  }
  if (rate->n < 1000 || rate->n > 1'000'000'000'000) {
    return wrong(key, "must be from 1kB/s to 1TB/s");
  }
  return static_cast<double>(rate->n);
}

Result<double> ModelKeys::rate(const char* key) { return rate_of(take(key), key); }

Result<std::uint64_t> ModelKeys::bytes(const char* key, Want<std::uint64_t> want) {
  const toml::node* node = take(key);
  if (node == nullptr && want.otherwise) {
    return *want.otherwise;
  }
  BLKSWEEP_TRY(const std::string value, text_of(node, key));
  const auto bytes = parse_bytes(value);
  if (!bytes) {
    return wrong(key, bytes.error().text);
  }
  if (!in_range(want, bytes->n)) {
    return wrong(key, range_text(want, "B"));
  }
  return bytes->n;
}

Result<std::uint64_t> ModelKeys::count(const char* key, Want<std::uint64_t> want) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return want.otherwise ? Result<std::uint64_t>(*want.otherwise) : missing(key);
  }
  const auto* number = node->as_integer();
  if (number == nullptr || number->get() < 0 ||
      !in_range(want, static_cast<std::uint64_t>(number->get()))) {
    return wrong(key, range_text(want, "") + " as a whole number without quotes");
  }
  return static_cast<std::uint64_t>(number->get());
}

Result<double> ModelKeys::number(const char* key, Want<double> want) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return want.otherwise ? Result<double>(*want.otherwise) : missing(key);
  }
  const std::optional<double> value = node->value<double>();
  if (!node->is_number() || !value || !in_range(want, *value)) {
    return wrong(key, range_text(want, "") + " as a number without quotes");
  }
  return *value + kPositiveZero;
}

Result<std::vector<double>> ModelKeys::rates(const char* key) {
  const toml::node* node = take(key);
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr || list->empty() || list->size() > kMost) {
    return wrong(key, R"(expected a list of rates, outer zone first: ["200MB/s", "100MB/s"])");
  }
  std::vector<double> out;
  for (const toml::node& item : *list) {
    BLKSWEEP_TRY(out.emplace_back(), rate_of(&item, key));
  }
  return out;
}

Result<SeekPoint> ModelKeys::point_of(const toml::node& node, const char* key) const {
  const toml::array* pair = node.as_array();
  const bool two = pair != nullptr && pair->size() == 2 && (*pair)[0].is_number();
  const auto fraction = two ? (*pair)[0].value<double>() : std::nullopt;
  if (!fraction || !(*fraction >= 0 && *fraction <= 1)) {
    return wrong(key, R"(expected points [fraction of the stroke, time]: [[0.0, "1ms"], ...])");
  }
  BLKSWEEP_TRY(const std::string text, text_of(pair->get(1), key));
  const auto time = parse_duration(text);
  if (!time) {
    return wrong(key, time.error().text);
  }
  if (time->count() > 100'000'000'000) {
    return wrong(key, "a seek longer than 100 s");
  }
  return SeekPoint{*fraction + kPositiveZero, static_cast<double>(time->count())};
}

Result<SeekCurve> ModelKeys::curve(const char* key) {
  const toml::node* node = take(key);
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr || list->empty() || list->size() > kMost) {
    return wrong(key, R"(expected a list of points: [[0.0, "1ms"], [1.0, "15ms"]])");
  }
  SeekCurve curve;
  for (const toml::node& item : *list) {
    BLKSWEEP_TRY(curve.emplace_back(), point_of(item, key));
    if (curve.size() > 1 && curve.back().fraction <= curve[curve.size() - 2].fraction) {
      return wrong(key, "the fractions must ascend");
    }
  }
  return curve;
}

Result<> ModelKeys::nothing_else() const {
  for (const auto& [key, node] : table_) {
    if (!taken_.contains(key.str())) {
      return usage_error(fmt::format("{}: {}: no such key for this kind of model (docs/models.md)",
                                     toml_place(file_, node.source()),
                                     one_line(std::string(key.str()))));
    }
  }
  return {};
}

}  // namespace blksweep
