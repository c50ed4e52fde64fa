// Cells as text: what records call them, and how the command line takes them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/log.h"
#include "base/text.h"
#include "cli/run/cell_meaning.h"
#include "cli/run/cell_options.h"
#include "experiment/fallback.h"

namespace blksweep {

std::vector<std::pair<std::string, std::string>> describe(const CellSettings& cell) {
  std::vector<std::pair<std::string, std::string>> out;
  out.reserve(cell_options().size());
  for (const CellOption& option : cell_options()) {
    out.emplace_back(option.name, has_meaning(option.name, cell) ? option.get(cell)
                                                                 : std::string(kMeansNothing));
  }
  if (cell.control != Control::none) {
    out.emplace_back("control", to_string(cell.control));
  }
  if (cell.order_asked) {
    out.emplace_back("order-asked", to_string(*cell.order_asked));
  }
  if (cell.merge_asked) {
    out.emplace_back("merge-asked", to_string(*cell.merge_asked));
  }
  if (cell.addresses_refused && sorts_by_address(cell)) {
    out.emplace_back("order-by", to_string(Order::inode));
  }
  return out;
}

std::string bytes_word(Bytes b) {
  constexpr std::array<std::pair<std::uint64_t, std::string_view>, 3> kUnits{
      {{std::uint64_t{1} << 30, "GiB"}, {std::uint64_t{1} << 20, "MiB"}, {1024, "KiB"}}};
  for (const auto& [unit, name] : kUnits) {
    if (b.n >= unit && b.n % unit == 0) {
      return fmt::format("{}{}", b.n / unit, name);
    }
  }
  return b.n == 0 ? "0" : fmt::format("{}B", b.n);
}

void fold_io_flags(CellText& text) {
  for (const std::string word : {"direct", "buffered"}) {
    const auto found = text.find(word);
    if (found == text.end()) {
      continue;
    }
    const std::vector<std::string> values = std::move(found->second);
    text.erase(found);
    for (const std::string& value : values) {
      const bool other = value == "false";
      text["io"].push_back(value == "true"    ? word
                           : !other           ? word + "=" + value  // no value of io: told as such
                           : word == "direct" ? "buffered"
                                              : "direct");
    }
  }
}

void add_cell_option(Command app, const CellOption& option, CellText& text) {
  const std::string name(option.name);
  const auto set = [&text, name](const std::vector<std::string>& values) -> Result<> {
    text[name] = split_list(values.back());
    if (std::ranges::adjacent_find(values, std::ranges::not_equal_to()) != values.end()) {
      note(fmt::format(
          "--{0} is given {1} times, and the last one counts, {2}: several are one list, "
          "--{0} {3}",
          name, values.size(), values.back(), joined(values, ",")));
    }
    return {};
  };
  Option added = app.add_texts("--" + name, set, std::string(option.help)).repeatable();
  if (option.help.empty()) {
    added.hidden();
  }
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    out.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

}  // namespace blksweep
