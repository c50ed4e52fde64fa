// Table: aligned columns for the terminal.
//
// Widths count characters, not bytes (UTF-8); a table without rows prints its heading only. Right
// alignment is for numbers, so that digits of the same weight stand below each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blksweep {

class Table {
 public:
  enum class Align { left, right };

  void column(std::string title, Align align = Align::right);
  // Fewer cells than columns: the rest is empty. More are ignored.
  void row(std::vector<std::string> cells);
  // Heading, rule, rows; every line ends in a newline and has no spaces before it.
  std::string text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace blksweep
