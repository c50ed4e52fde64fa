// Made-up times of an interleaved experiment under known noise: what statistics are tested on.
//
// Model:   run i of a session has the logarithm of its speed disturbed by
//            none        sigma * e_i, e_i normal and independent
//            drift       that, and a straight line: the last run takes 20 % longer than the first
//            outliers    that, and one run in 20, at random, takes three times as long
//            correlated  sigma * x_i, x_i = rho x_(i-1) + sqrt(1 - rho^2) e_i (stationary AR(1)):
//                        neighbouring *runs* are alike, whatever cell they are of
//            wandering   every cell has an AR(1) of its own from round to round (rho = 0.9): the
//                        *effect* moves, and what is estimated is not the effect of another day
// Rounds:  all cells once, in an order drawn at random (or fixed, or to and fro).
// Threads: one owner.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "base/rng.h"

namespace blksweep {

enum class Disturbance { none, drift, outliers, correlated_little, correlated_much, wandering };
// Those that the method claims to bear.
inline constexpr std::array kDisturbances{Disturbance::none, Disturbance::drift,
                                          Disturbance::outliers, Disturbance::correlated_little,
                                          Disturbance::correlated_much};

inline std::string_view to_string(Disturbance kind) {
  constexpr std::array<std::string_view, 6> kWords{"independent",      "drift 20 %",
                                                   "outliers 1 in 20", "correlated 0.4",
                                                   "correlated 0.9",   "wandering effect"};
  return kWords[static_cast<std::size_t>(kind)];
}

enum class RoundOrder { random, fixed, to_and_fro };

struct PairNoiseSettings {
  Disturbance kind = Disturbance::none;
  double sigma = 0.02;
  std::size_t cells = 2;
  std::uint64_t seed = 1;
  RoundOrder order = RoundOrder::random;
};

class PairNoise {
 public:
  explicit PairNoise(const PairNoiseSettings& settings) : s_(settings), rng_(settings.seed) {}

  // Of one made-up experiment: of every cell but the first its ratio to the first in each round;
  // all are truly `effect` times as fast.
  std::vector<std::vector<double>> ratios(std::size_t rounds, double effect) {
    std::vector<std::vector<double>> out(s_.cells - 1);
    std::vector<double> speeds(s_.cells);
    std::vector<std::size_t> order(s_.cells);
    begin(rounds);
    for (std::size_t round = 0; round < rounds; ++round) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      arrange(order, round);
      for (const std::size_t cell : order) {
        speeds[cell] = disturbance(cell);
      }
      for (std::size_t c = 1; c < s_.cells; ++c) {
        out[c - 1].push_back(effect * std::exp(speeds[c] - speeds[0]));
      }
    }
    return out;
  }

 private:
  double rho() const { return s_.kind == Disturbance::correlated_little ? 0.4 : 0.9; }

  void begin(std::size_t rounds) {
    runs_ = rounds * s_.cells;
    at_ = 0;
    last_ = rng_.normal();
    own_.assign(s_.cells, 0);
    for (double& x : own_) {
      x = rng_.normal();
    }
  }

  void arrange(std::vector<std::size_t>& order, std::size_t round) {
    if (s_.order == RoundOrder::random) {
      shuffle(std::span(order), rng_);
    } else if (s_.order == RoundOrder::to_and_fro && round % 2 == 1) {
      std::vector<std::size_t>(order.rbegin(), order.rend()).swap(order);
    }
  }

  double next_of(double& state) {
    state = rho() * state + std::sqrt(1 - rho() * rho()) * rng_.normal();
    return state;
  }

  double disturbance(std::size_t cell) {
    const double share = static_cast<double>(at_++) / static_cast<double>(runs_ - 1);
    switch (s_.kind) {
      case Disturbance::drift:
        return s_.sigma * rng_.normal() - std::log(1.2) * share;
      case Disturbance::outliers:
        return s_.sigma * rng_.normal() - (rng_.below(20) == 0 ? std::log(3.0) : 0);
      case Disturbance::correlated_little:
      case Disturbance::correlated_much:
        return s_.sigma * next_of(last_);
      case Disturbance::wandering:
        return s_.sigma * next_of(own_[cell]);
      case Disturbance::none:
        break;
    }
    return s_.sigma * rng_.normal();
  }

  PairNoiseSettings s_;
  Rng rng_;
  std::size_t runs_ = 0, at_ = 0;
  double last_ = 0;
  std::vector<double> own_;
};

}  // namespace blksweep
