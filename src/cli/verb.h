// How a verb joins the program: one add_* function each, in its own cli/verb_*.cpp.
//
// add_x() declares the subcommand with its options and, in the subcommand's callback, sets
// `action`. main() parses, then runs the action and turns its result into an exit code: an Error is
// printed as one line on stderr. Actions write their answer to stdout and nothing else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace blksweep {

struct Verbs {
  Command root;
  std::vector<std::string> argv;         // as given, for the run record
  std::function<Result<Exit>()> action;  // set by the subcommand that was named
};

void add_dataset(Verbs& verbs);
void add_catalog(Verbs& verbs);
void add_plan(Verbs& verbs);
void add_run(Verbs& verbs);
void add_fio(Verbs& verbs);
void add_report(Verbs& verbs);
void add_paper(Verbs& verbs);
void add_probe(Verbs& verbs);
void add_simulate(Verbs& verbs);
void add_disk(Verbs& verbs);
void add_map(Verbs& verbs);
void add_cache(Verbs& verbs);
void add_node(Verbs& verbs);
void add_doctor(Verbs& verbs);
void add_timeline(Verbs& verbs);
void add_trace(Verbs& verbs);
void add_replay(Verbs& verbs);
// Parts of a verb in files of their own: they add subcommands to it.
void add_cache_files(Verbs& verbs, Command cache);     // drop, warm, stat
void add_cache_pin(Verbs& verbs, Command cache);       // pin, list, unpin
void add_node_settings(Verbs& verbs, Command node);    // show, set, restore
void add_node_exec(Verbs& verbs, Command node);        // exec
void add_trace_record(Verbs& verbs, Command trace);    // record
void add_trace_stat(Verbs& verbs, Command trace);      // stat
void add_dataset_pack(Verbs& verbs, Command dataset);  // pack

}  // namespace blksweep
