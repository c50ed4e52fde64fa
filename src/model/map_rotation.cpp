// The rotation of a disk from the times at which the same places were read again.
//
// A place passes under the head once a revolution, so the completions of its reads are whole
// multiples of the period apart, whatever was read in between. The coherence of these times at a
// frequency is the length of the sum of their phases, taken place by place.
#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <span>

#include "model/map_facts.h"

#include "stats/quantile.h"

namespace blksweep {
namespace {

// A rotation is claimed only this far above chance; see docs/latency-map.md for the bound.
constexpr double kLeastAboveChance = 10;
constexpr double kLeastCoherence = 0.3;
constexpr std::size_t kLeastRichPlaces = 12;
constexpr std::size_t kMostGroups = 96;     // enough for certainty; a fast device gives thousands
constexpr std::size_t kVisitsTogether = 4;  // visits of a group: a short time has few periods
constexpr double kLongestPeriod = 50e6;     // 1,200 rpm
constexpr double kShortestPeriod = 25e3;    // 24,000 rpm a hundred times as fast

using Group = std::vector<double>;  // times of visits to one place, ns from the first of all

struct Visits {
  std::vector<Group> places;  // all of a place
  std::vector<Group> groups;  // pieces of at most kVisitsTogether
  double usual = 0;           // median latency
  double spread = 0;          // of latencies, p5 to p95: on a disk about one period and more
  double span = 0;            // longest group, ns
  double pairs = 0;           // sum of n (n - 1) over groups
};

Visits visits_of(const LatencyMap& map) {
  std::vector<std::int64_t> latencies;
  std::map<std::uint64_t, std::vector<const MapRead*>> by_place;
  for (const MapRead& r : map.reads) {
    if (r.part == MapPart::revisit) {
      latencies.push_back(r.latency_ns);
      by_place[r.offset].push_back(&r);
    }
  }
  Visits v;
  const auto p5 = percentile(latencies, 0.05);
  const auto p95 = percentile(latencies, 0.95);
  v.spread = static_cast<double>(p95 - p5) / 0.9;
  // The host held up what takes far longer than the rest; a drive's cache answered what is far
  // shorter than any revisit that needs the medium.
  v.usual = static_cast<double>(percentile(latencies, 0.5));
  const auto hit = static_cast<std::int64_t>(v.usual / 8);
  const auto late = static_cast<std::int64_t>(static_cast<double>(p95) + v.spread);
  for (auto& [offset, reads] : by_place) {
    std::ranges::sort(reads, {}, &MapRead::begin_ns);
    Group all;
    for (const MapRead* r : reads) {
      if (r->latency_ns > hit && r->latency_ns < late) {
        all.push_back(static_cast<double>(r->begin_ns + r->latency_ns - map.reads[0].begin_ns));
      }
    }
    v.places.push_back(std::move(all));
  }
  return v;
}

double usual_gap(const std::vector<Group>& places) {
  std::vector<double> gaps;
  for (const Group& all : places) {
    for (std::size_t i = 1; i < all.size(); ++i) {
      gaps.push_back(all[i] - all[i - 1]);
    }
  }
  return gaps.empty() ? 0 : median(gaps);
}

void thin(std::vector<Group>& groups) {
  if (groups.size() > kMostGroups) {
    for (std::size_t i = 1; i < kMostGroups; ++i) {  // the first stays
      groups[i].swap(groups[i * groups.size() / kMostGroups]);
    }
    groups.resize(kMostGroups);
  }
}

// A group ends where another part of the map came between: the longer a group lasts, the more
// frequencies are told apart, and have to be tried.
void make_groups(Visits& v) {
  const double longest_gap = 3 * usual_gap(v.places);
  for (const Group& all : v.places) {
    for (std::size_t at = 0; at < all.size();) {
      Group g{all[at++]};
      while (at < all.size() && g.size() < kVisitsTogether && all[at] - g.back() < longest_gap) {
        g.push_back(all[at++]);
      }
      if (g.size() > 1) {
        v.groups.push_back(std::move(g));
      }
    }
  }
  thin(v.groups);
  for (const Group& g : v.groups) {
    v.span = std::max(v.span, g.back() - g.front());
    v.pairs += static_cast<double>(g.size() * (g.size() - 1));
  }
}

// Sum over groups of |sum of phases|^2 - n: 0 on average when phases are chance, pairs when equal.
double excess(const Visits& v, double frequency) {
  double sum = 0;
  const double turn = 2 * std::numbers::pi * frequency;
  for (const Group& g : v.groups) {
    double c = 0;
    double s = 0;
    for (const double t : g) {
      // From the first visit on: small angles keep their digits.
      const double angle = turn * (t - g.front());
      c += std::cos(angle);
      s += std::sin(angle);
    }
    sum += c * c + s * s - static_cast<double>(g.size());
  }
  return sum;
}

// The excess at evenly spaced frequencies: each visit's phasor is turned on by a constant angle,
// which is twenty times as fast as a sine and a cosine each (and exact enough over thousands).
class Scan {
 public:
  Scan(const Visits& v, double from, double step) : visits_(v) {
    for (const Group& g : v.groups) {
      for (const double t : g) {
        const double turn = 2 * std::numbers::pi * (t - g.front());
        at_.push_back(std::polar(1.0, turn * from));
        by_.push_back(std::polar(1.0, turn * step));
      }
    }
  }
  double next() {
    double sum = 0;
    std::size_t i = 0;
    for (const Group& g : visits_.groups) {
      double c = 0;
      double s = 0;
      for (std::size_t n = g.size(); n > 0; --n, ++i) {
        const double re = at_[i].real();
        const double im = at_[i].imag();
        c += re;
        s += im;
        at_[i] = {re * by_[i].real() - im * by_[i].imag(), re * by_[i].imag() + im * by_[i].real()};
      }
      sum += c * c + s * s - static_cast<double>(g.size());
    }
    return sum;
  }

 private:
  const Visits& visits_;
  std::vector<std::complex<double>> at_, by_;
};

struct Peak {
  double frequency = 0, excess = 0;
};

Peak climb(const Visits& v, Peak peak, double step) {
  for (int i = 0; i < 24; ++i, step /= 1.6) {
    for (const double f : {peak.frequency - step, peak.frequency + step}) {
      if (const double e = excess(v, f); e > peak.excess) {
        peak = {f, e};
      }
    }
  }
  return peak;
}

// The multiples of the true frequency are as coherent as itself, or more when the host delays reads
// by a fixed part of a turn; its fractions are chance. So the fundamental is the lowest fraction of
// the best that is well above chance.
Peak fundamental(const Visits& v, Peak best, double low) {
  const double chance = std::sqrt(v.pairs);  // standard deviation
  for (int part = 6; part > 1; --part) {
    const double f = best.frequency / part;
    if (f >= low) {
      const Peak p = climb(v, {f, excess(v, f)}, 1 / (16 * v.span));
      if (p.excess > 6 * chance && p.excess > 0.3 * best.excess) {
        return p;
      }
    }
  }
  return best;
}

Peak best_peak(const Visits& v) {
  const double low = 1 / std::min(kLongestPeriod, 2 * v.spread);
  // Half a period is part of every latency; the rest are seeks, of three periods at the most.
  const double high = 1 / std::max({kShortestPeriod, v.spread / 4, v.usual / 6});
  const double step = 1 / (8 * v.span);
  std::vector<Peak> peaks;
  Peak before{0, 0};
  Peak last{0, 0};
  double best = 0;
  Scan scan(v, low, step);
  for (std::size_t i = 0; low + static_cast<double>(i) * step < high; ++i) {
    const Peak now{low + static_cast<double>(i) * step, scan.next()};
    if (last.excess > before.excess && last.excess >= now.excess && last.excess > 0) {
      peaks.push_back(last);
      best = std::max(best, last.excess);
    }
    before = last;
    last = now;
  }
  Peak highest{0, 0};
  for (const Peak& p : peaks) {
    // What is far below the best on the grid does not become the best between its points.
    if (p.excess > 0.5 * best) {
      const Peak climbed = climb(v, p, step / 2);
      highest = climbed.excess > highest.excess ? climbed : highest;
    }
  }
  return highest.excess > 0 ? fundamental(v, highest, low) : highest;
}

// Least squares over pairs of visits that are at most `apart` visits apart: the number of turns
// between them is known when the period is good to less than half a turn over that time.
double refined(const Visits& v, double period, std::size_t apart) {
  double top = 0;
  double bottom = 0;
  for (const Group& g : v.places) {
    for (std::size_t i = apart; i < g.size(); ++i) {
      const double time = g[i] - g[i - apart];
      const double turns = std::round(time / period);
      if (std::abs(time / period - turns) < 0.2) {  // beyond: held up by the host
        top += turns * time;
        bottom += turns * turns;
      }
    }
  }
  return bottom > 0 ? top / bottom : period;
}

// The coherence of visits that follow each other, as many as there are places.
double coherence_across(const Visits& v, double period) {
  Group all;
  for (const Group& g : v.places) {
    all.insert(all.end(), g.begin(), g.end());
  }
  std::ranges::sort(all);
  Visits together;
  const std::size_t count = v.places.size();
  for (std::size_t at = 0; at + count <= all.size(); at += count) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
    together.groups.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
    together.pairs += static_cast<double>(count * (count - 1));
  }
  return together.pairs > 0 ? excess(together, 1 / period) / together.pairs : 0;
}

}  // namespace

std::optional<Rotation> find_rotation(const LatencyMap& map) {
  Visits v = visits_of(map);
  make_groups(v);
  const auto rich = std::ranges::count_if(v.groups, [](const Group& g) { return g.size() >= 3; });
  if (rich < static_cast<std::ptrdiff_t>(kLeastRichPlaces) || v.spread <= 0 || v.span <= 0) {
    return std::nullopt;
  }
  const Peak peak = best_peak(v);
  Rotation r;
  r.coherence = peak.excess / v.pairs;
  r.above_chance = peak.excess / std::sqrt(v.pairs);
  if (r.coherence < kLeastCoherence || r.above_chance < kLeastAboveChance) {
    return std::nullopt;
  }
  r.period_ns = 1 / peak.frequency;
  std::size_t most = 0;
  for (const Group& g : v.places) {
    most = std::max(most, g.size());
  }
  for (std::size_t apart = 1; apart < most; apart *= 2) {
    r.period_ns = refined(v, r.period_ns, apart);
  }
  r.across = coherence_across(v, r.period_ns);
  return r;
}

}  // namespace blksweep
