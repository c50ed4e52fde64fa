// Insert: one INSERT statement, its columns named beside their values.
//
// Insert row("fio"); row("run_id", id); each_fio_column(fio, row); row.into(db) runs it.
// Texts and optional values are referred to, not copied, until into() returns.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/database.h"
#include "store/schema/run_columns.h"

namespace blksweep {

class Insert {
 public:
  explicit Insert(std::string_view table) : table_(table) {}

  template <class T>
  void operator()(std::string_view column, const T& value) {
    name(column);
    if constexpr (std::is_arithmetic_v<T>) {
      binders_.push_back([value](Statement& s) { s.bind(value); });
    } else {
      binders_.push_back([&value](Statement& s) { s.bind(value); });
    }
  }
  template <class T>
  void operator()(std::string_view column, UnsignedText<T> value) {
    name(column);
    binders_.push_back([text = std::to_string(value.n)](Statement& s) { s.bind(text); });
  }
  Result<> into(Database& db) const;

 private:
  void name(std::string_view column) {
    columns_.append(columns_.empty() ? "" : ", ").append(column);
    marks_.append(marks_.empty() ? "?" : ", ?");
  }
  std::string table_, columns_, marks_;
  std::vector<std::function<void(Statement&)>> binders_;
};

}  // namespace blksweep
