// ModelKeys: the keys of a model file, each taken once with its unit and range.
//
// Errors:  one line: file, line, key, what is wrong and what would be right. What nobody took is
//          unknown and refused by nothing_else().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/toml.h"
#include "model/model_spec.h"

namespace blksweep {

class ModelKeys {
 public:
  // `table` must outlive this.
  ModelKeys(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  template <class T>
  struct Want {
    T low, high;
    std::optional<T> otherwise = std::nullopt;  // none: the key must be there
  };

  bool has(const char* key) const { return table_.contains(key); }
  Result<std::string> text(const char* key, std::optional<std::string> otherwise = std::nullopt);
  Result<double> duration(const char* key, Want<double> want);  // ns
  Result<double> rate(const char* key);                         // bytes/s
  Result<std::uint64_t> bytes(const char* key, Want<std::uint64_t> want);
  Result<std::uint64_t> count(const char* key, Want<std::uint64_t> want);
  Result<double> number(const char* key, Want<double> want);
  Result<std::vector<double>> rates(const char* key);
  Result<SeekCurve> curve(const char* key);

  // An error about this key: "file:line: key: what".
  tl::unexpected<Error> wrong(const char* key, const std::string& what) const;
  Result<> nothing_else() const;

 private:
  const toml::node* take(const char* key);
  tl::unexpected<Error> missing(const char* key) const;
  Result<std::string> text_of(const toml::node* node, const char* key) const;
  Result<double> rate_of(const toml::node* node, const char* key) const;
  Result<SeekPoint> point_of(const toml::node& node, const char* key) const;

  const toml::table& table_;
  std::string file_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace blksweep
