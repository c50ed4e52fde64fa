// Select: reads rows with the column names of run_columns.h.
//
// A Select visitor collects names in a first pass (columns()) and reads the fields of a row in the
// same order in a second (fields()), so that the SQL and the reading cannot drift apart.
#pragma once

#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "store/database.h"
#include "store/schema/run_columns.h"

namespace blksweep {

// "a, b, c" with a prefix before each: the columns of a visitor of run_columns.h.
class ColumnNames {
 public:
  explicit ColumnNames(std::string prefix = "") : prefix_(std::move(prefix)) {}
  template <class T>
  void operator()(std::string_view column, T&&) {
    text_.append(text_.empty() ? "" : ", ").append(prefix_).append(column);
  }
  const std::string& text() const { return text_; }

 private:
  std::string prefix_, text_;
};

// Reads the fields of the current row.
class RowReader {
 public:
  explicit RowReader(Statement& row) : row_(row) {}
  template <class T>
  void operator()(std::string_view, T& field) {
    row_.read(field);
  }
  template <class T>
  void operator()(std::string_view, UnsignedText<T> field) {
    std::string text;
    row_.read(text);
    std::from_chars(text.data(), text.data() + text.size(), field.n);
  }

 private:
  Statement& row_;
};

// Calls `row` for each row of a prepared and bound statement.
inline Result<> for_each_row(Statement& statement, const std::function<void(Statement&)>& row) {
  for (;;) {
    BLKSWEEP_TRY(const bool there, statement.step());
    if (!there) {
      return {};
    }
    row(statement);
  }
}

}  // namespace blksweep
