// The options of `run`: what a whole experiment has beside its cells.
//
// Text comes from the command line and a spec file (spec.h); merge_text decides what holds, and
// parse_run_options turns it into values. Errors quote the option and the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/run/cell_options.h"
#include "cli/run/spec.h"
#include "experiment/emission_file.h"
#include "experiment/pair.h"
#include "experiment/peer/peer_run.h"
#include "stats/precision.h"

namespace blksweep {

struct RunOptions {
  std::string data, catalog, db;
  std::string model, disk_label;  // empty: no prediction; the default label
  std::string workdir, report;    // folders: of what a spec makes; of the report at the end
  std::string emission;           // name of the files of --emission; empty: none
  std::uint32_t repeats = 1;
  std::optional<PrecisionRule> precision;  // --repeats auto
  std::uint64_t most_repeats() const { return precision ? precision->most_rounds : repeats; }
  std::uint64_t seed = 1;
  bool verify = false, check = true, probe = true, probe_layers = false, probe_cache = false,
       ceiling = true, json = false;
  bool controls = false;      // cells has them, too
  bool follow_links = false;  // of data
  TwinArms twins;
  PeerSettings peers;
  std::vector<CellSettings> cells;
  // What was swept where it means nothing, in words; empty: nothing was. See cell_meaning.h.
  std::string folded;
  // What --emission writes: a file for each repeat of each cell that is no control.
  EmissionCount emitted() const;
};

// "grouped" (or "true"), "plain", "both", "none" (or "false"); nullopt: none of them.
std::optional<TwinArms> twin_arms(std::string_view text);

// Names of the options beside those of the cell table.
bool is_run_option(std::string_view name);

Result<RunOptions> parse_run_options(const Spec& spec, const CellText& command_line);

}  // namespace blksweep
