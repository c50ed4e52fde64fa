// GemmPlan: which square products, one behind the other, take a given time.
//
// One product's time goes by steps that are coarse (n^3, and n by whole tiles). So a time is made
// of the largest products that fit into it and of smaller ones for what remains, as money is
// changed.
//
// Units: nanoseconds. Threads: pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace blksweep {

struct GemmSize {
  unsigned n = 0;  // n x n
  double ns = 0;   // that one takes in a row of them; measured
};

struct GemmCount {
  unsigned n = 0;
  std::uint64_t times = 0;
};

// Of all orders the largest products come first. What cannot be met to half of the shortest product
// is the caller's to know: planned_ns() - asked_ns. A time above 0 has one product at least.
// REQUIRES: a size, and each size's time above 0.
std::vector<GemmCount> plan_gemm(std::span<const GemmSize> sizes, double asked_ns);
double planned_ns(std::span<const GemmSize> sizes, std::span<const GemmCount> plan);

}  // namespace blksweep
