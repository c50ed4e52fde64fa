#include "base/table.h"

#include <algorithm>

#include "base/text.h"

namespace blksweep {
namespace {

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void Table::column(std::string title, Align align) {
  titles_.push_back(std::move(title));
  aligns_.push_back(align);
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(titles_.size());
  std::ranges::transform(cells, cells.begin(), [](const std::string& c) { return printable(c); });
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> rule;
  for (std::size_t c = 0; c < titles_.size(); ++c) {
    std::size_t widest = width(titles_[c]);
    for (const auto& row : rows_) {
      widest = std::max(widest, width(row[c]));
    }
    widths.push_back(widest);
    rule.emplace_back(widest, '-');
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string pad(widths[c] - width(cells[c]), ' ');
      text += c == 0 ? "" : "  ";
      text += aligns_[c] == Align::right ? pad + cells[c] : cells[c] + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line(titles_);
  line(rule);
  std::ranges::for_each(rows_, line);
  return out;
}

}  // namespace blksweep
