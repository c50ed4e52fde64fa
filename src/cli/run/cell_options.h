// The options that can be swept: one table feeds the command line, spec files, `--help` and
// records.
//
// Every option takes several values separated by commas; cells are their cross product. `set` turns
// text into a value (a usage error quotes the text), `get` gives the word that records use.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "experiment/cell.h"

namespace blksweep {

struct CellOption {
  std::string_view name;  // without dashes: "merge-gap"
  std::string_view help;  // empty: the help of another option names it
  Result<> (*set)(CellSettings&, std::string_view);
  std::string (*get)(const CellSettings&);
};

std::span<const CellOption> cell_options();
// Of these the ones that say who reads, and how much of each sample (reader_options.cpp).
std::span<const CellOption> reader_options();
// Of these the ones that say how bytes are read (engine_options.cpp).
std::span<const CellOption> engine_options();
// Gives workers what follows from being workers: the engine of their scope, a sampler's order.
// Errors: another engine was named.
Result<> settle_workers(CellSettings& cell);
// Of these the ones that change the node for a run (node_options.cpp); a plan does not depend on
// them.
std::span<const CellOption> node_options();
bool is_node_option(std::string_view name);

// Option name -> values as text. Order of names does not matter.
using CellText = std::map<std::string, std::vector<std::string>, std::less<>>;

// Of one sweep: a spec of some kilobytes could name billions.
inline constexpr std::size_t kMostCells = 10'000;

// The cross product of all values over the defaults, at most kMostCells. Errors name the option and
// quote the text.
Result<std::vector<CellSettings>> expand_cells(const CellText& text);

// Whether what one cell asks for goes together; a usage error says what does not.
Result<> check_cell(const CellSettings& cell);

// What the values of one cell are called, in the table's order: the record's settings. "-" where a
// setting means nothing (cell_meaning.h): cells of equal words are one cell.
std::vector<std::pair<std::string, std::string>> describe(const CellSettings& cell);

// Declares the option on a verb; what is given goes into `text`, split at commas.
void add_cell_option(Command app, const CellOption& option, CellText& text);

// direct = true and buffered = true are another way to say io; afterwards it is said so.
void fold_io_flags(CellText& text);

// The largest unit that says it exactly: "64MiB", "1000B".
std::string bytes_word(Bytes b);

// A size of whole KiB, the unit of the kernel's queue settings.
Result<Bytes> parse_whole_kib(std::string_view text);

std::vector<std::string> split_list(std::string_view text);

}  // namespace blksweep
