#include "stats/order_survival.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "stats/histogram.h"

namespace blksweep {
namespace {

// What the sentence calls so.
constexpr double kReached = 0.95, kMostlyReversed = 0.5, kAllReversed = 0.95;
constexpr double kExchanged = 0.9;  // of a submission's neighbours: it came out reversed
constexpr std::uint32_t kNotSeen = UINT32_MAX;

struct Sight {
  std::uint32_t read = 0;
  std::size_t request = 0;
};

std::uint32_t reads_of(std::span<const PlannedPlace> places) {
  std::uint32_t most = 0;
  for (const PlannedPlace& p : places) {
    most = std::max(most, p.read + 1);
  }
  return most;
}

// Each read at its first request, in the order of sight; those of one request in the plan's order.
std::vector<Sight> first_sights(std::span<const PlannedPlace> places,
                                std::span<const SeenRequest> seen) {
  std::vector<Sight> out;
  std::vector<bool> known(reads_of(places));
  for (std::size_t r = 0; r < seen.size(); ++r) {
    auto place = std::ranges::upper_bound(places, seen[r].begin, {}, &PlannedPlace::end);
    for (; place != places.end() && place->begin < seen[r].end; ++place) {
      if (!known[place->read]) {
        known[place->read] = true;
        out.push_back({place->read, r});
      }
    }
  }
  std::ranges::sort(out, {}, [](const Sight& s) { return std::pair(s.request, s.read); });
  return out;
}

// Reads that were never seen leave no gap: sights then hold 0 .. n - 1, each once.
void close_gaps(std::vector<Sight>& sights, std::uint32_t reads) {
  std::vector<std::uint32_t> rank(reads, kNotSeen);
  for (const Sight& s : sights) {
    rank[s.read] = 0;
  }
  std::uint32_t next = 0;
  for (std::uint32_t& r : rank) {
    r = r == kNotSeen ? r : next++;
  }
  for (Sight& s : sights) {
    s.read = rank[s.read];
  }
}

std::vector<std::uint32_t> positions(std::span<const Sight> sights) {
  std::vector<std::uint32_t> at(sights.size());
  for (std::uint32_t i = 0; i < sights.size(); ++i) {
    at[sights[i].read] = i;
  }
  return at;
}

// Sorts `values`; the pairs that stood the wrong way round.
std::uint64_t sort_inversions(std::span<std::uint32_t> values,
                              std::vector<std::uint32_t>& scratch) {
  if (values.size() < 2) {
    return 0;
  }
  const std::size_t half = values.size() / 2;
  std::uint64_t found =
      sort_inversions(values.first(half), scratch) + sort_inversions(values.subspan(half), scratch);
  scratch.clear();
  std::size_t left = 0;
  for (std::size_t right = half; right < values.size(); ++right) {
    for (; left < half && values[left] < values[right]; ++left) {
      scratch.push_back(values[left]);
    }
    found += half - left;
    scratch.push_back(values[right]);
  }
  scratch.insert(scratch.end(), values.begin() + static_cast<std::ptrdiff_t>(left),
                 values.begin() + static_cast<std::ptrdiff_t>(half));
  std::ranges::copy(scratch, values.begin());
  return found;
}

void find_tau(std::vector<std::uint32_t> at, std::size_t window, OrderSurvival& out) {
  std::uint64_t& wrong = out.inversions;
  std::uint64_t pairs = 0;
  std::vector<std::uint32_t> scratch;
  for (std::size_t begin = 0; begin < at.size(); begin += window) {
    const std::size_t n = std::min(window, at.size() - begin);
    wrong += sort_inversions(std::span(at).subspan(begin, n), scratch);
    pairs += std::uint64_t{n} * (n - 1) / 2;
  }
  out.tau = 1 - 2 * static_cast<double>(wrong) / static_cast<double>(pairs);
}

double neighbours_kept(std::span<const std::uint32_t> at) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    kept += at[i] < at[i + 1] ? 1U : 0U;
  }
  return static_cast<double>(kept) / static_cast<double>(at.size() - 1);
}

// Reads that one request showed first: all from `low` to `high`, or not `whole`.
struct Shown {
  std::uint32_t low = 0, high = 0, reads = 0;
  bool whole() const { return high - low + 1 == reads; }
  bool is_before(const Shown& other) const {
    return whole() && other.whole() && high + 1 == other.low;
  }
};

std::vector<Shown> by_request(std::span<const Sight> sights) {
  std::vector<Shown> out;
  for (std::size_t i = 0; i < sights.size(); ++i) {
    const std::uint32_t read = sights[i].read;
    if (i == 0 || sights[i].request != sights[i - 1].request) {
      out.push_back({read, read, 1});
    } else {
      Shown& s = out.back();
      s = {std::min(s.low, read), std::max(s.high, read), s.reads + 1};
    }
  }
  return out;
}

std::uint64_t at_share(const std::vector<std::uint64_t>& sorted, double share) {
  const double place = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(place, 1.0)) - 1];
}

void find_reversed(std::span<const Sight> sights, OrderSurvival& out) {
  const std::vector<Shown> shown = by_request(sights);
  std::vector<std::uint64_t> chains;
  std::uint64_t reads = 0;
  for (std::size_t begin = 0, end = 1; begin < shown.size(); begin = end++) {
    std::uint64_t chained = shown[begin].reads;
    for (; end < shown.size() && shown[end].is_before(shown[end - 1]); ++end) {
      chained += shown[end].reads;
    }
    if (end - begin >= kLeastChain) {
      chains.push_back(end - begin);
      reads += chained;
    }
  }
  out.reversed = static_cast<double>(reads) / static_cast<double>(sights.size());
  if (!chains.empty()) {
    std::ranges::sort(chains);
    out.reversed_run = at_share(chains, 0.5);
  }
}

void find_displaced(std::span<const std::uint32_t> at, OrderSurvival& out) {
  std::vector<std::uint64_t> moved;
  const auto spread = std::make_unique<LogHistogram>();
  for (std::size_t i = 0; i < at.size(); ++i) {
    moved.push_back(at[i] > i ? at[i] - i : i - at[i]);
    spread->add(moved.back());
  }
  out.displaced = spread->buckets();
  std::ranges::sort(moved);
  out.displaced_p50 = at_share(moved, 0.5);
  out.displaced_p99 = at_share(moved, 0.99);
  out.displaced_max = moved.back();
}

// Neighbours of one submission in different requests.
struct Exchanged {
  std::uint64_t pairs = 0, exchanged = 0;
  bool counts() const { return pairs + 1 >= kLeastChain; }
  bool reversed() const {
    return static_cast<double>(exchanged) >= kExchanged * static_cast<double>(pairs);
  }
};

// `request_of`: by read, kNotSeen of those that were not.
Exchanged exchanged_in(std::span<const std::uint32_t> request_of) {
  Exchanged out;
  std::uint32_t before = kNotSeen;
  for (const std::uint32_t request : request_of) {
    if (request == kNotSeen) {
      continue;
    }
    if (before != kNotSeen && request != before) {
      ++out.pairs;
      out.exchanged += request < before ? 1U : 0U;
    }
    before = request;
  }
  return out;
}

// Before gaps are closed: submissions count the plan's reads.
SubmissionOrder judge_submissions(std::span<const Sight> sights, const OrderQuestion& q) {
  std::vector<std::uint32_t> request_of(reads_of(q.places), kNotSeen);
  for (const Sight& s : sights) {
    request_of[s.read] = static_cast<std::uint32_t>(s.request);
  }
  SubmissionOrder out;
  for (std::size_t i = 0; i < q.submissions.size(); ++i) {
    const std::size_t begin = std::min<std::size_t>(q.submissions[i], request_of.size());
    const std::size_t end = i + 1 < q.submissions.size()
                                ? std::min<std::size_t>(q.submissions[i + 1], request_of.size())
                                : request_of.size();
    const Exchanged found = exchanged_in(std::span(request_of).subspan(begin, end - begin));
    out.batches += found.counts() ? 1U : 0U;
    out.reversed += found.counts() && found.reversed() ? 1U : 0U;
  }
  return out;
}

std::string batches_text(const std::optional<SubmissionOrder>& b) {
  return b && b->batches > 0
             ? fmt::format("; {} of {} submissions came out reversed", b->reversed, b->batches)
             : "";
}

bool is_reversed(const OrderSurvival& found) { return found.reversed >= kMostlyReversed; }

// What works between two layers of which the upper one saw the order as it was.
std::string_view batch_between(std::string_view above, std::string_view layer) {
  return layer == "complete" ? "batch of the device"
         : above == "queue"  ? "plug batch"
         : above == "insert" ? "batch of the scheduler"
                             : "batch";
}

const char* words_of(std::string_view layer) {
  return layer == "queue"    ? "the block layer"
         : layer == "insert" ? "the scheduler"
         : layer == "issue"  ? "the driver"
                             : "completion";
}

}  // namespace

std::optional<OrderSurvival> order_survival(const OrderQuestion& q,
                                            std::span<const SeenRequest> seen) {
  std::vector<Sight> sights = first_sights(q.places, seen);
  if (sights.size() < 2) {
    return std::nullopt;
  }
  OrderSurvival out;
  if (!q.submissions.empty()) {
    out.batches = judge_submissions(sights, q);
  }
  close_gaps(sights, reads_of(q.places));
  const std::vector<std::uint32_t> at = positions(sights);
  out.reads = sights.size();
  out.kept = neighbours_kept(at);
  find_tau(at, q.window, out);
  find_reversed(sights, out);
  find_displaced(at, out);
  return out;
}

std::string order_sentence(const OrderSurvival& found, std::string_view layer,
                           std::string_view batch) {
  if (is_reversed(found)) {
    const bool all = found.reversed >= kAllReversed;
    return fmt::format(
        "reversed{}{} before {}: {:.1f} % of the reads, in runs of {} requests (median){}",
        all ? " in every " : "", all ? batch : "", layer, found.reversed * 100,
        found.reversed_run.value_or(0), batches_text(found.batches));
  }
  const char* verdict = found.kept >= kReached ? "the order reached" : "the order did not reach";
  return fmt::format("{} {}: {:.1f} % of neighbours kept, tau {:.2f}", verdict, layer,
                     found.kept * 100, found.tau);
}

std::vector<LayerVerdict> order_verdicts(
    std::span<const std::pair<std::string, OrderSurvival>> layers) {
  std::vector<LayerVerdict> out;
  std::string_view above, batch = "batch";
  bool turned = false;
  for (const auto& [layer, found] : layers) {
    if (is_reversed(found) && !turned) {
      batch = batch_between(above, layer);
      turned = true;
    }
    out.push_back({layer, order_sentence(found, words_of(layer), batch)});
    above = layer;
  }
  return out;
}

}  // namespace blksweep
