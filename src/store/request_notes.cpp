#include "store/request_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stats/quantile.h"

namespace blksweep {
namespace {

// What of the bytes that were read is of a class; reads only.
Maybe<double> share_of_class(const RunRecord& run, const std::string& kind) {
  std::uint64_t all = 0, of_kind = 0;
  if (run.probe && run.probe->attribution) {
    for (const RequestClassRecord& c : run.probe->attribution->classes) {
      const bool read = std::ranges::find(kReadKinds, c.kind) != kReadKinds.end();
      all += read ? c.bytes.value_or(0) : 0;
      of_kind += c.kind == kind ? c.bytes.value_or(0) : 0;
    }
  }
  return all == 0 ? Maybe<double>()
                  : Maybe<double>(static_cast<double>(of_kind) / static_cast<double>(all));
}

// One line for all cells of which the same is said.
class Said {
 public:
  void add(const std::string& text, std::string_view label) {
    auto at = std::ranges::find(said_, text, [](const auto& s) { return s.first; });
    at = at == said_.end() ? said_.insert(at, {text, {}}) : at;
    at->second.push_back(label);
  }
  std::string lines(std::size_t cells) const {
    std::string out;
    for (const auto& [text, labels] : said_) {
      const bool all = labels.size() == cells && labels.size() > 1;
      out += fmt::format("{}: {}\n", all ? "all cells" : fmt::format("{}", fmt::join(labels, "; ")),
                         text);
    }
    return out;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string_view>>> said_;
};

// Of the driver; of the layers above it where they were followed.
std::string order_notes(const std::vector<CellSummary>& cells) {
  Said said;
  for (const CellSummary& c : cells) {
    for (const LayerVerdict& v : order_verdicts(c.order)) {
      if (v.layer != "complete") {
        said.add(v.text, c.label);
      }
    }
  }
  return said.lines(cells.size());
}

// "what the disk read: samples 93.0 %, read ahead 5.4 %"
std::string read_for_text(const CellSummary& c) {
  std::string out;
  for (const auto& [kind, share] : c.read_for) {
    std::string name = kind;
    std::ranges::replace(name, '_', ' ');
    out += fmt::format("{}{} {:.1f} %", out.empty() ? "what the disk read: " : ", ", name,
                       100 * share);
  }
  return out;
}

std::string read_for_notes(const std::vector<CellSummary>& cells) {
  Said said;
  for (const CellSummary& c : cells) {
    if (const std::string text = read_for_text(c); !text.empty()) {
      said.add(text, c.label);
    }
  }
  return said.lines(cells.size());
}

}  // namespace

std::vector<std::pair<std::string, double>> read_for(const std::vector<const StoredRun*>& runs) {
  std::vector<std::pair<std::string, double>> out;
  for (const std::string kind : kReadKinds) {
    std::vector<double> shares;
    for (const StoredRun* r : runs) {
      if (const auto share = share_of_class(r->run, kind)) {
        shares.push_back(*share);
      }
    }
    if (!shares.empty() && median(shares) > 0) {
      out.emplace_back(kind, median(shares));
    }
  }
  return out;
}

std::string request_notes(const std::vector<CellSummary>& cells) {
  return order_notes(cells) + read_for_notes(cells);
}

}  // namespace blksweep
