// Holm's correction of a family of tests (Scandinavian Journal of Statistics 6(2), 1979): the k-th
// smallest p of m is held to error_rate / (m - k); the first that fails ends it.
//
// Threads: pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace blksweep {

// Sorts by p, equal ones as they were, and returns how many from the front hold.
template <class Test, class P>
std::size_t holm(std::vector<Test>& tests, double error_rate, P p) {
  std::ranges::stable_sort(tests, {}, p);
  std::size_t held = 0;
  while (held < tests.size() &&
         std::invoke(p, tests[held]) <= error_rate / static_cast<double>(tests.size() - held)) {
    ++held;
  }
  return held;
}

}  // namespace blksweep
