#include "store/summary/request_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
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
      out += fmt::format("{}: {}\n", all ? "all cells" : joined(labels, "; "), text);
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

std::string page_cache_notes(const std::vector<CellSummary>& cells) {
  Said said;
  for (const CellSummary& c : cells) {
    if (!c.page_cache.empty()) {
      said.add(c.page_cache, c.label);
    }
  }
  return said.lines(cells.size());
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

std::string page_cache_text(const std::vector<const StoredRun*>& runs) {
  std::vector<double> hits, unwanted, again, evicted, windows, window_bytes;
  for (const StoredRun* r : runs) {
    if (const Maybe<CacheRecord>& c = r->run.page_cache) {
      hits.push_back(c->hit_share.value_or(-1));
      unwanted.push_back(static_cast<double>(c->unwanted_bytes));
      again.push_back(static_cast<double>(c->again_bytes));
      evicted.push_back(static_cast<double>(c->evicted_bytes));
      if (c->readahead_windows.value_or(0) > 0 && c->readahead_bytes) {
        windows.push_back(static_cast<double>(*c->readahead_windows));
        window_bytes.push_back(static_cast<double>(*c->readahead_bytes) / windows.back());
      }
    }
  }
  if (hits.empty()) {
    return "";
  }
  const auto size = [](const std::vector<double>& all) {
    return format_bytes({static_cast<std::uint64_t>(median(all))});
  };
  const std::string found =
      median(hits) < 0 ? "the run reads past it"
                       : fmt::format("{:.1f} % of what is wanted was there", 100 * median(hits));
  const std::string ahead =
      windows.empty() ? ""
                      : fmt::format("; {} windows of read-ahead, {} on average",
                                    format_count(static_cast<std::uint64_t>(median(windows))),
                                    size(window_bytes));
  return fmt::format("page cache: {}; fetched and not wanted {}, evicted {}, fetched again {}{}",
                     found, size(unwanted), size(evicted), size(again), ahead);
}

std::string request_notes(const std::vector<CellSummary>& cells) {
  return order_notes(cells) + read_for_notes(cells) + page_cache_notes(cells);
}

}  // namespace blksweep
