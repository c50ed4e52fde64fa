#include "store/summary/mixed.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"

namespace blksweep {
namespace {

using Names = std::set<std::string>;
using MixedRuns = std::span<const StoredRun* const>;

Names of_predictions(MixedRuns runs, std::string PredictionRecord::*field) {
  Names names;
  for (const StoredRun* r : runs) {
    if (const auto& p = r->run.prediction) {
      names.insert((*p).*field);
    }
  }
  return names;
}

// Peers say what they are: a library that was renewed between two sessions is another one.
Names peer_programs(MixedRuns runs) {
  Names programs;
  for (const StoredRun* r : runs) {
    if (r->run.peer_reads) {
      programs.insert(r->run.engine_features);
    }
  }
  return programs;
}

std::string listed(const Names& names) { return printable(joined(names, ", ")); }

}  // namespace

bool predicted_alike(MixedRuns runs) {
  return of_predictions(runs, &PredictionRecord::model_hash).size() <= 1;
}

std::vector<std::string> mixed_in(MixedRuns runs) {
  std::vector<std::string> out;
  if (!predicted_alike(runs)) {
    out.push_back(fmt::format(
        "its runs have predictions of several models ({}), so none is shown: simulate --store "
        "predicts all on one",
        listed(of_predictions(runs, &PredictionRecord::model))));
  }
  if (const Names programs = peer_programs(runs); programs.size() > 1) {
    out.push_back(fmt::format(
        "its runs are of several programs ({}), and its numbers of all of them: measure one anew "
        "with another --db",
        listed(programs)));
  }
  return out;
}

}  // namespace blksweep
