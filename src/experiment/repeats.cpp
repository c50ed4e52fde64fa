#include "experiment/repeats.h"

#include <algorithm>
#include <array>

namespace blksweep {
namespace {

constexpr std::array<const char*, 6> kReasons{"",           "precision", "repeats-max",
                                              "time-limit", "no-pairs",  "fio-clock"};

// Only what ratios are made of: a long sweep does not keep its batches.
RunRecord essence(const RunRecord& run) {
  RunRecord out;
  out.session_id = run.session_id;
  out.repeat = run.repeat;
  out.epoch_ns = run.epoch_ns;
  out.samples = run.samples;
  out.incomplete = run.incomplete;
  out.fio = run.fio;
  out.fio_plain = run.fio_plain;
  return out;
}

std::vector<std::vector<double>> values_of(const std::vector<Series>& series, bool compared_only) {
  std::vector<std::vector<double>> out;
  for (const Series& s : series) {
    if (s.compared || !compared_only) {
      out.push_back(s.values);
    }
  }
  return out;
}

}  // namespace

Repeats::Repeats(std::uint32_t number, std::optional<PrecisionRule> rule,
                 std::vector<std::vector<std::uint32_t>> finished, SummaryInput stored)
    : number_(number), rule_(rule), finished_(std::move(finished)), runs_(std::move(stored)) {
  for (const auto& repeats : finished_) {
    stored_runs_ += static_cast<std::size_t>(
        std::ranges::count_if(repeats, [this](std::uint32_t r) { return rule_ || r < number_; }));
    first_ = repeats.empty() ? first_ : std::max(first_, repeats.back() + 1);
  }
  rounds_ = first_;
  judge();
}

bool Repeats::finished(std::size_t cell, std::uint32_t repeat) const {
  return rule_ ? repeat < first_
               : std::ranges::find(finished_[cell], repeat) != finished_[cell].end();
}

bool Repeats::nothing_left(std::size_t cell) const {
  if (rule_) {
    return stop_reason(state_, rounds_, Nanos{0}, *rule_) != StopReason::none;
  }
  const auto in_number = [this](std::uint32_t r) { return r < number_; };
  return std::ranges::count_if(finished_[cell], in_number) == number_;
}

bool Repeats::another(std::uint32_t round, Nanos elapsed) {
  if (!rule_) {
    return round < number_;
  }
  const bool first = rounds_ == first_;  // of this session: no time limit keeps it from all rounds
  const StopReason stop = stop_reason(state_, rounds_, first ? Nanos{0} : elapsed, *rule_);
  if (stop != StopReason::none) {
    reason_ = kReasons[static_cast<std::size_t>(stop)];
  }
  return stop == StopReason::none;
}

void Repeats::add(std::size_t cell, const RunRecord& run) {
  if (rule_) {
    const auto id = static_cast<std::int64_t>(runs_.runs.size() + 1);
    runs_.runs.push_back({id, runs_.cells[cell].id, essence(run)});
  }
}

void Repeats::end_round() {
  ++rounds_;
  judge();
}

void Repeats::judge() {
  if (rule_) {
    series_ = series_of(runs_);
    std::vector<double> biases(series_.size());
    std::ranges::transform(series_, biases.begin(), &Series::log_bias);
    state_ = precision_of(values_of(series_, false), rounds_, *rule_, biases);
  }
}

std::size_t Repeats::runs_expected() const {
  const std::size_t cells = finished_.size();
  return rule_ ? (state_.rounds_expected - std::min<std::size_t>(first_, state_.rounds_expected)) *
                     cells
               : cells * number_ - stored_runs_;
}

RoundEvent Repeats::event() const {
  RoundEvent out{.rounds_expected = state_.rounds_expected};
  StoppingRecord& s = out.stopping;
  s.precision = rule_->half_width;
  s.pilot = kPilotRounds;
  s.repeats_max = static_cast<std::uint32_t>(rule_->most_rounds);
  if (rule_->time_limit) {
    s.time_limit_ns = rule_->time_limit->count();
  }
  s.rounds = rounds_;
  s.intervals = static_cast<std::uint32_t>(state_.intervals);
  s.reached = static_cast<std::uint32_t>(state_.reached);
  s.half_width = state_.half_width;
  s.widest = state_.half_width ? series_[state_.widest].ratio() : "";
  s.reason = reason_;
  const std::vector<Finding> findings = findings_so_far(values_of(series_, true));
  std::size_t at = 0;
  for (const Series& series : series_) {
    if (series.compared) {
      out.so_far.emplace_back(series.name, findings[at++]);
    }
  }
  return out;
}

}  // namespace blksweep
