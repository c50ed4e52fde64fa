// The terminal's table of a summary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "store/summary/decode_bound.h"
#include "store/summary/request_notes.h"
#include "store/summary/stopping.h"
#include "store/summary/summary.h"
#include "store/summary/verdicts.h"

namespace blksweep {
namespace {

constexpr double kLeastStall = 0.0005;  // of the epoch; less would read 0.0 %

template <class T, class Format>
std::string shown(const Maybe<T>& x, Format format) {
  return x ? format(*x) : "-";
}

std::string repeats_range(const CellSummary& c) {
  return c.bytes_per_s && c.runs > 1 ? range_text(c.bytes_per_s->least / double{kMiB},
                                                  c.bytes_per_s->greatest / double{kMiB})
                                     : "-";
}

std::string ratio(const CellSummary& c) {
  return c.baseline ? "baseline" : shown(c.ratio, ratio_text);
}

std::string verdict(const CellSummary& c) { return verdict_text(c.verdict); }

std::string percent(double x) { return fmt::format("{:.0f} %", x * 100); }
std::string tenth_percent(double x) { return fmt::format("{:.1f} %", x * 100); }
std::string signed_percent(double x) { return fmt::format("{:+.1f} %", x * 100); }
std::string middle_percent(const Level& l) { return tenth_percent(l.median); }
std::string duration(double ns) { return format_duration(Nanos{static_cast<Nanos::rep>(ns)}); }

struct Column {
  const char* title;
  const char* meaning;
  std::string (*text)(const CellSummary&);
  bool optional;  // left out when no cell has a value
};

constexpr Column kColumns[] = {
    {"n", "runs that count", [](const CellSummary& c) { return std::to_string(c.runs); }, false},
    {"left out", "runs that are incomplete, and in no figure",
     [](const CellSummary& c) { return c.incomplete > 0 ? std::to_string(c.incomplete) : "-"; },
     true},
    {"samples/s", "samples delivered per second, median of the runs",
     [](const CellSummary& c) {
       return c.samples_per_s ? format_rounded(c.samples_per_s->median) : "-";
     },
     false},
    {"MiB/s", "bytes of samples delivered per second, median",
     [](const CellSummary& c) {
       return c.bytes_per_s ? digits(c.bytes_per_s->median / double{kMiB}) : "-";
     },
     false},
    {"least..greatest", "MiB/s of the slowest and of the fastest run", repeats_range, true},
    {"ratio [95 %]",
     "samples/s over the baseline's of the same round, geometric mean; 95 % interval from 5 rounds",
     ratio, false},
    {"verdict",
     "faster, slower or not shown, with an error of 5 % over all cells; (needs x %): what would "
     "have been seen",
     verdict, true},
    {"ours / fio",
     "speed over fio's with the same reads in the same order and groups, geometric mean; 95 % "
     "interval from 5 rounds",
     [](const CellSummary& c) { return shown(c.twins.ratio, ratio_text); }, true},
    {"ours / plain fio", "the same beside fio that submits one read at a time",
     [](const CellSummary& c) { return shown(c.twins.plain_ratio, ratio_text); }, true},
    {"requests ours / fio", "requests at the device, medians",
     [](const CellSummary& c) { return requests_text(c.twins); }, true},
    {"peer reads", "what another loader read: the files, or the same samples in a form of its own",
     [](const CellSummary& c) { return c.peer_reads.empty() ? "-" : c.peer_reads; }, true},
    {"waits for decoding",
     "share of the epoch in which another loader's consumer waited for busy decoders; from half of "
     "it on the loop is decode-bound",
     [](const CellSummary& c) { return shown(c.decode_wait, decode_bound_text); }, true},
    {"of ceiling",
     "MiB/s over what the device gives for the data's own extents in address order; none where the "
     "page cache gave a part",
     [](const CellSummary& c) { return shown(c.ceiling_share, percent); }, true},
    {"first batch", "time from the beginning of the epoch until the first batch was there, median",
     [](const CellSummary& c) { return shown(c.first_batch_ns, duration); }, true},
    {"mean depth", "requests that the disk had at once, mean over the time with any (probe)",
     [](const CellSummary& c) { return shown(c.depth_mean, digits); }, true},
    {"requests", "requests that were issued to the disk (probe), median",
     [](const CellSummary& c) { return shown(c.requests_issued, format_rounded); }, true},
    {"fallbacks", "samples that merge=device read through their files",
     [](const CellSummary& c) {
       return c.device_fallbacks.value_or(0) > 0 ? format_rounded(*c.device_fallbacks) : "-";
     },
     true},
    {"read amplification", "bytes that the disk read for each byte delivered, median",
     [](const CellSummary& c) { return shown(c.read_amplification, digits); }, true},
    {"utilisation", "share of the epoch in which the consumer worked",
     [](const CellSummary& c) { return shown(c.utilisation, percent); }, true},
    {"exposed copy", "share of the epoch in which only the copy worked",
     [](const CellSummary& c) { return shown(c.exposed_copy, tenth_percent); }, true},
    {"hidden transfer",
     "share of the transfers' time in which a kernel ran, on the accelerator's clock, median",
     [](const CellSummary& c) { return shown(c.hidden_transfer, middle_percent); }, true},
    {"copy CPU", "CPU time of the copy thread for a sample",
     [](const CellSummary& c) { return shown(c.copy_cpu_ns_per_part, duration); }, true},
    {"of ideal", "the time of the busiest stage alone over the epoch's",
     [](const CellSummary& c) { return shown(c.ideal_share, percent); }, true},
    {"predicted", "time of the epoch on the modelled disk (simulate)",
     [](const CellSummary& c) { return shown(c.prediction_epoch_ns, duration); }, true},
    {"prediction error", "predicted time over the measured one, less 1",
     [](const CellSummary& c) { return shown(c.prediction_error, signed_percent); }, true},
    {"displacement",
     "how far samples moved from the cell's own order (of a trace: as recorded), 1: as at random",
     [](const CellSummary& c) { return shown(c.quality.displacement, digits); }, true},
    {"label mix", "how mixed the labels of a batch are, 1: as in a random permutation",
     [](const CellSummary& c) { return shown(c.quality.label_mix, digits); }, true},
};

// Names and texts of what is known of a cell.
struct Numbers {
  std::vector<std::pair<std::string, std::string>> known;

  void add(const std::string& name, const std::string& text) {
    if (!text.empty() && text != "-") {
      known.emplace_back(name, text);
    }
  }
  template <class T, class Format>
  void add(const std::string& name, const Maybe<T>& x, Format format) {
    add(name, shown(x, format));
  }
  void estimate(const std::string& name, const Maybe<PairedRatio>& r) {
    if (r) {
      add(name, digits(r->value));
      add(name + "_pairs", std::to_string(r->pairs));
      interval(name, r->interval);
      interval(name + "_ranked", r->ranked);
    }
  }
  template <class Format>
  void level(const std::string& name, const Maybe<Level>& l, Format format) {
    if (l) {
      add(name, format(l->median));
      add(name + "_least", format(l->least));
      add(name + "_greatest", format(l->greatest));
    }
  }
  void interval(const std::string& name, const Maybe<Interval>& i) {
    if (i) {
      add(name + "_low", digits(i->low));
      add(name + "_high", digits(i->high));
    }
  }
};

bool worth_showing(const Column& column, const std::vector<CellSummary>& cells) {
  return !column.optional || std::ranges::any_of(cells, [&](const CellSummary& c) {
    const std::string text = column.text(c);
    return !text.empty() && text != "-";
  });
}

// "lba: compute stands still 3.1 % of the epoch: storage 2.6 %, copy 0.5 %": greatest first. Their
// sum is less where runs waited for different things.
std::string stalls(const CellSummary& c) {
  std::vector<std::pair<double, std::string>> causes;
  for (const auto& [cause, share] : c.stalls) {
    if (share >= kLeastStall) {
      causes.emplace_back(-share, cause);
    }
  }
  if (causes.empty()) {
    return "";
  }
  std::ranges::sort(causes);
  std::string text = fmt::format("{}: {} stands still {} of the epoch:", c.label, c.stalled_lane,
                                 tenth_percent(c.stalled.value_or(0)));
  for (const auto& [share, cause] : causes) {
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", cause, tenth_percent(-share));
  }
  return text + (c.runs > 1 ? " (each its own median)\n" : "\n");
}

std::string percent_range(const Level& l) {
  return fmt::format("{} ({:.1f}..{:.1f})", tenth_percent(l.median), l.least * 100,
                     l.greatest * 100);
}

// "pageable: transfers at 11.9 GB/s, 98.2 % (97.9..98.4) of their time behind kernels, 0.1 %
// (0.1..0.2) of the epoch exposed; 3 us between kernels whose data were there".
std::string overlap_note(const CellSummary& c) {
  if (!c.hidden_transfer || !c.exposed_transfer || !c.transfer_rate) {
    return "";
  }
  std::string text = fmt::format(
      "{}: transfers at {} GB/s, {} of their time behind kernels, {} of the epoch exposed", c.label,
      digits(c.transfer_rate->median / 1e9), percent_range(*c.hidden_transfer),
      percent_range(*c.exposed_transfer));
  if (c.fed_gap_ns) {
    text +=
        fmt::format("; {} between kernels whose data were there", duration(c.fed_gap_ns->median));
  }
  return text + '\n';
}

// What of a cell's comparison the table cannot say.
std::string comparison_notes(const CellSummary& c) {
  std::string out;
  for (const std::string& text : c.mixed) {
    out += fmt::format("{}: {}\n", c.label, text);
  }
  if (c.split > 0) {
    out += fmt::format(
        "{}: {} round{} split between sessions: such runs are no pairs; more --repeats add "
        "rounds\n",
        c.label, c.split, c.split == 1 ? "" : "s");
  }
  const bool ranked = c.ratio && c.ratio->ranked && !c.ratio->ranked->contains(1.0);
  if (c.verdict.finding == Finding::not_shown && ranked) {
    out += fmt::format(
        "{}: the signed-rank interval {} excludes 1: single repeats lie far off or the comparisons "
        "are many; look at the repeats, or run more\n",
        c.label, range_text(c.ratio->ranked->low, c.ratio->ranked->high));
  }
  return out;
}

// Ratios whose row of 1 is not in the table.
std::string unseen_baselines(const std::vector<CellSummary>& cells) {
  std::set<std::string> names;
  for (const CellSummary& c : cells) {
    names.insert(c.ratio_to);
  }
  names.erase("");  // of cells without one
  for (const CellSummary& c : cells) {
    names.erase(c.baseline ? c.label : "");
  }
  return names.empty() ? "" : fmt::format("ratio: to {}, not shown here\n", joined(names, "; "));
}

std::string method_note(const std::vector<CellSummary>& cells) {
  std::map<std::string, std::size_t> families;  // comparisons with one baseline, by disk
  std::size_t most = 0, fewest = SIZE_MAX, greatest = 0, repeats = 0;
  for (const CellSummary& c : cells) {
    if (c.ratio) {
      fewest = std::min(fewest, c.ratio->pairs);
      greatest = std::max(greatest, c.ratio->pairs);
      repeats = std::max(repeats, kLeastRounds + c.split);  // split rounds are no pairs
    }
    if (c.verdict.finding != Finding::none) {
      most = std::max(most, ++families[setting_of(c.cell, "disk")]);
    }
  }
  std::string out;
  if (most > 0) {
    out = fmt::format(
        "ratio: of samples/s, geometric mean of {} pairs of a round, 95 % interval by Student's t "
        "on "
        "the logarithms, each alone\nverdict: t test, 5 % for one wrong word {}\n",
        fewest == greatest ? std::to_string(fewest) : fmt::format("{} to {}", fewest, greatest),
        among_text(most));
  }
  if (fewest < kLeastRounds) {
    out +=
        fmt::format("{} pair{}: no interval and no verdict from fewer than {}; use --repeats {}\n",
                    fewest, fewest == 1 ? "" : "s", kLeastRounds, repeats);
  }
  return out;
}

std::string notes(const std::vector<CellSummary>& cells) {
  std::string out = request_notes(cells);
  bool compared = false;
  bool same = true;
  for (const CellSummary& c : cells) {
    out += stalls(c) + overlap_note(c) + comparison_notes(c) + twin_notes(c.label, c.twins);
    compared |= c.twins.ratio.has_value();
    same &= !c.twins.ratio || c.twins.same_requests();
    for (const std::string& reason : c.incomplete_reasons) {
      out += fmt::format("left out of {}: {}\n", c.label, reason.empty() ? "incomplete" : reason);
    }
  }
  if (compared && same) {
    out += "ours / fio: as many requests at the device on both sides in the median, within 2 %\n";
  }
  return out + fio_verdicts(cells) + unseen_baselines(cells) + method_note(cells);
}

std::vector<Column> columns_of(const std::vector<CellSummary>& cells) {
  std::vector<Column> columns;
  std::ranges::copy_if(kColumns, std::back_inserter(columns),
                       [&](const Column& c) { return worth_showing(c, cells); });
  return columns;
}

}  // namespace

SummaryTexts summary_numbers(const CellSummary& c) {
  const auto mib = [](double bytes) { return digits(bytes / double{kMiB}); };
  Numbers out;
  out.add("n", std::to_string(c.runs));
  out.add("left_out", std::to_string(c.incomplete));
  if (c.samples_per_s) {
    out.add("samples_per_s", format_rounded(c.samples_per_s->median));
    out.add("samples_per_s_least", format_rounded(c.samples_per_s->least));
    out.add("samples_per_s_greatest", format_rounded(c.samples_per_s->greatest));
  }
  if (c.bytes_per_s) {
    out.add("mib_per_s", mib(c.bytes_per_s->median));
    out.add("mib_per_s_least", mib(c.bytes_per_s->least));
    out.add("mib_per_s_greatest", mib(c.bytes_per_s->greatest));
  }
  out.estimate("ratio", c.ratio);
  out.add("verdict", verdict(c));
  out.add("detectable", c.verdict.detectable, percent_text);
  out.estimate("fio_ratio", c.twins.ratio);
  out.add("fio_verdict", verdict_text(c.twins.verdict));
  out.estimate("fio_plain_ratio", c.twins.plain_ratio);
  out.add("device_requests", c.twins.requests, format_rounded);
  out.add("fio_requests", c.twins.twin_requests, format_rounded);
  out.add("ceiling_share", c.ceiling_share, percent);
  out.add("decode_wait", c.decode_wait, decode_bound_text);
  out.add("first_batch", c.first_batch_ns, duration);
  out.add("depth_mean", c.depth_mean, digits);
  out.add("requests_issued", c.requests_issued, format_rounded);
  out.add("device_fallbacks", c.device_fallbacks, format_rounded);
  out.add("read_amplification", c.read_amplification, digits);
  out.add("utilisation", c.utilisation, percent);
  out.add("exposed_copy", c.exposed_copy, tenth_percent);
  out.level("hidden_transfer", c.hidden_transfer, tenth_percent);
  out.level("exposed_transfer", c.exposed_transfer, tenth_percent);
  out.level("transfer_gb_per_s", c.transfer_rate, [](double x) { return digits(x / 1e9); });
  out.level("fed_gap", c.fed_gap_ns, duration);
  out.add("copy_cpu", c.copy_cpu_ns_per_part, duration);
  out.add("ideal_share", c.ideal_share, percent);
  out.add("prediction", c.prediction_epoch_ns, duration);
  out.add("prediction_error", c.prediction_error, signed_percent);
  out.add("displacement", c.quality.displacement, digits);
  out.add("label_mix", c.quality.label_mix, digits);
  return std::move(out.known);
}

std::string columns_text(const std::vector<CellSummary>& cells) {
  std::string out;
  for (const Column& c : columns_of(cells)) {
    out += fmt::format("{:20} {}\n", c.title, c.meaning);
  }
  return out;
}

std::string summary_text(const std::vector<CellSummary>& cells) {
  const std::vector<Column> columns = columns_of(cells);
  Table table;
  table.column("cell", Table::Align::left);
  for (const Column& c : columns) {
    table.column(c.title, c.text == verdict ? Table::Align::left : Table::Align::right);
  }
  for (const CellSummary& cell : cells) {
    std::vector<std::string> row{cell.label};
    std::ranges::transform(columns, std::back_inserter(row),
                           [&](const Column& c) { return c.text(cell); });
    table.row(std::move(row));
  }
  return table.text() + notes(cells);
}

}  // namespace blksweep
