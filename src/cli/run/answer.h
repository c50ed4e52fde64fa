// What `run` prints: its own runs, collected one by one, or those that a database holds already.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/run/options.h"
#include "experiment/experiment.h"
#include "store/export/json.h"
#include "store/summary/summary.h"

namespace blksweep {

// Notes and warnings are said as runs end, the table or the JSON document once at the end.
class RunAnswer {
 public:
  RunAnswer(const RunOptions& options, const HostRecord& host);

  // `first`: the experiment's first cell.
  void add(const RunEvent& event, const ExperimentCell* first);
  // Of --repeats auto: said after each round, kept for the foot.
  void add_round(const RoundEvent& event);
  // Whom else a warning concerns, by the numbers of the runs in this session.
  void say_again() const;
  bool has_runs() const { return !input_.runs.empty() || !runs_.empty(); }
  void print() const;

 private:
  struct Warned {
    std::string text;
    std::vector<std::size_t> runs;
  };

  // In full for the first run only: a sweep says most of them in each.
  void warn_of_run(std::size_t run, const std::string& label, const std::string& text);

  const RunOptions& options_;
  SummaryInput input_;
  std::vector<std::string> labels_;
  std::vector<Warned> warned_;
  Maybe<StoppingRecord> stopping_;
  Json runs_ = Json::array();
};

// A sweep that a database holds already: what is stored is what was asked for. `key` is the
// experiment's; nothing_left: all of its runs were there, none was measured now.
Result<> print_stored(const RunOptions& o, const std::string& key, bool nothing_left);

}  // namespace blksweep
