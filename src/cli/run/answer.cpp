#include "cli/run/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "cli/answer.h"
#include "store/result_reader.h"
#include "store/summary/ceilings.h"
#include "store/summary/rig_verdict.h"
#include "store/summary/stopping.h"

namespace blksweep {
namespace {

// The table needs scalars only; a long sweep must not keep every point of every run in memory.
RunRecord without_series(RunRecord run) {
  run.batches = {};
  run.read_latency_ns = {};
  if (run.probe) {
    run.probe->series = {};
    run.probe->issues = {};
  }
  return run;
}

// All runs of this experiment, those of an earlier start included.
Result<SummaryInput> stored_runs(const std::string& db, const std::string& key) {
  SummaryInput input;
  BLKSWEEP_TRY(ResultReader reader, ResultReader::open(db));
  BLKSWEEP_TRY(std::vector<StoredExperiment> experiments, reader.experiments());
  std::erase_if(experiments, [&](const StoredExperiment& e) { return e.key != key; });
  if (!experiments.empty()) {
    BLKSWEEP_TRY(input.cells, reader.cells(experiments.back().id));
    BLKSWEEP_TRY(input.runs, reader.runs(experiments.back().id));
    input.ceilings[""] = experiments.back().ceilings;
    input.hosts[""] = experiments.back().host;
    if (experiments.back().stopping) {
      input.stopping[""] = *experiments.back().stopping;
    }
  }
  return input;
}

std::string text_of(const SummaryInput& input) {
  if (input.runs.empty()) {
    return "";
  }
  const RigVerdict rig = judge_rig(input);
  return (rig.judged ? rig_line(rig) + "\n" : "") + summary_text(summarize(input)) +
         rig_notes(rig) + stopping_text(input.stopping) + ceilings_text(input.ceilings);
}

// What is to be known before any figure comes first.
Json document(const SummaryInput& input, Json runs, const Maybe<StoppingRecord>& stopping) {
  Json out;
  if (const Json rig = rig_json(judge_rig(input)); !rig.is_null()) {
    out["rig"] = rig;
  }
  add_peers(runs);
  out["runs"] = std::move(runs);
  out["stopping"] = stopping_json(stopping);
  return out;
}

Maybe<StoppingRecord> stopping_of(const SummaryInput& input) {
  const auto found = input.stopping.find("");
  return found == input.stopping.end() ? std::nullopt : Maybe<StoppingRecord>(found->second);
}

Json document_of(const SummaryInput& input) {
  Json runs = Json::array();
  for (const StoredRun& r : input.runs) {
    const auto cell = std::ranges::find(input.cells, r.cell_id, &StoredCell::id);
    runs.push_back(run_json(cell->cell, r.run));
  }
  return document(input, std::move(runs), stopping_of(input));
}

std::string comparisons(const RunRecord& run) {
  std::string text;
  for (const auto& [twin, name] : {std::pair{&run.fio, "fio"}, {&run.fio_plain, "plain fio"}}) {
    if (*twin && (*twin)->ratio) {
      text += fmt::format(", ours / {} {:.2f}", name, *(*twin)->ratio);
    }
  }
  if (run.prediction) {
    text += fmt::format(", predicted {}", format_duration(Nanos{run.prediction->epoch_ns}));
  }
  return text;
}

// "runs 2-5, 8"
std::string run_list(std::span<const std::size_t> runs) {
  std::string text = runs.size() == 1 ? "run " : "runs ";
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t last = i;
    while (last + 1 < runs.size() && runs[last + 1] == runs[last] + 1) {
      ++last;
    }
    text += i == 0 ? "" : ", ";
    text += last == i ? std::to_string(runs[i]) : fmt::format("{}-{}", runs[i], runs[last]);
    i = last + 1;
  }
  return text;
}

std::string more_than(const PrecisionRule& rule) {
  return fmt::format("a --precision below {:g}%, a --repeats-max above {}", rule.half_width * 100,
                     rule.most_rounds);
}

// "faster: lba, inode; slower: path"; "" when nothing is shown so far.
std::string so_far_text(const RoundEvent& event) {
  std::string text;
  for (const auto& [finding, word] :
       {std::pair{Finding::faster, "faster"}, {Finding::slower, "slower"}}) {
    std::string names;
    for (const auto& [name, found] : event.so_far) {
      names += found == finding ? (names.empty() ? "" : ", ") + name : "";
    }
    text += names.empty() ? "" : fmt::format("; {} so far: {}", word, names);
  }
  return text;
}

std::string round_text(const RoundEvent& event) {
  const StoppingRecord& s = event.stopping;
  const std::string widest = s.half_width ? fmt::format("widest interval within {} ({}), ",
                                                        percent_text(*s.half_width), s.widest)
                                          : "";
  const std::size_t more =
      event.rounds_expected - std::min<std::size_t>(s.rounds, event.rounds_expected);
  return fmt::format(
      "round {}: {}{} of {} within {}{}{}", s.rounds, widest, s.reached, s.intervals,
      percent_text(s.precision),
      more > 0 ? fmt::format(", about {} more round{}", more, more == 1 ? "" : "s") : "",
      so_far_text(event));
}

}  // namespace

Result<> print_stored(const RunOptions& o, const std::string& key, bool nothing_left) {
  BLKSWEEP_TRY(const SummaryInput stored, stored_runs(o.db, key));
  if (nothing_left) {
    note(fmt::format(
        "{} holds all {} runs of this sweep: nothing was measured; {} or another --db measures "
        "more",
        o.db, stored.runs.size(),
        o.precision ? more_than(*o.precision) : fmt::format("--repeats {}", o.repeats + 1)));
  }
  say_text(o.json ? json_text(document_of(stored)) + "\n" : text_of(stored));
  if (!o.json) {
    note(fmt::format("what the columns mean: blksweep report {} --explain", o.db));
  }
  return {};
}

RunAnswer::RunAnswer(const RunOptions& options, const HostRecord& host) : options_(options) {
  input_.hosts[""] = host;
  for (std::size_t c = 0; c < options.cells.size(); ++c) {
    input_.cells.push_back({static_cast<std::int64_t>(c + 1), {describe(options.cells[c])}});
  }
  std::vector<CellRecord> records;
  for (const StoredCell& cell : input_.cells) {
    records.push_back(cell.cell);
  }
  labels_ = cell_labels(records);
}

void RunAnswer::add(const RunEvent& event, const ExperimentCell* first) {
  const auto index = static_cast<std::size_t>(&event.cell - first);
  // As `timeline` and `fio` know it, also behind a sweep that was interrupted.
  const std::size_t number = event.id > 0 ? static_cast<std::size_t>(event.id) : event.done;
  for (const std::string& text : event.run.warnings) {
    warn_of_run(number, labels_[index], text);
  }
  note(fmt::format(
      "[{}/{}{}] {}: {} samples in {}{}{}", event.done, options_.precision ? "~" : "",
      std::max(event.done, event.total), labels_[index], format_count(event.run.samples),
      format_duration(Nanos{event.run.epoch_ns}), comparisons(event.run),
      event.run.incomplete ? " (incomplete: " + event.run.incomplete_reason + ")" : ""));
  if (options_.json) {
    runs_.push_back(run_json(event.cell.record, event.run));
  }
  if (options_.json && !options_.controls) {
    return;
  }
  input_.runs.push_back({static_cast<std::int64_t>(input_.runs.size() + 1),
                         static_cast<std::int64_t>(index + 1), without_series(event.run)});
}

void RunAnswer::add_round(const RoundEvent& event) {
  stopping_ = event.stopping;
  if (!event.stopping.reason) {
    note(round_text(event));
  }
}

void RunAnswer::warn_of_run(std::size_t run, const std::string& label, const std::string& text) {
  const auto known = std::ranges::find(warned_, text, &Warned::text);
  if (known == warned_.end()) {
    warned_.push_back({text, {run}});
    warn(fmt::format("run {} ({}): {}", run, label, text));
  } else if (known->runs.back() != run) {
    known->runs.push_back(run);
  }
}

void RunAnswer::say_again() const {
  for (const Warned& w : warned_) {
    if (w.runs.size() > 1) {
      const auto others = std::span(w.runs).subspan(1);
      warn(fmt::format("{} too: {}", run_list(others), w.text));
    }
  }
}

void RunAnswer::print() const {
  if (options_.json) {
    say_json(document(input_, runs_, stopping_));
    return;
  }
  SummaryInput input = input_;
  if (stopping_) {
    input.stopping[""] = *stopping_;
  }
  say_text(text_of(input));
}

}  // namespace blksweep
