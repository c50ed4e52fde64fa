// What the simulation studies of tests/bench share: how many experiments a line is of, bounds that
// hold or not, and the end that says which.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace blksweep::study {

inline int trials = 0;  // of one line; a table may take fewer for its time
inline bool failed = false;

inline std::string held(bool good) {
  failed = failed || !good;
  return good ? "" : " FAIL";
}

// The exit status: 0 every bound holds, 1 one does not, 2 usage.
template <class Tables>
int run(int argc, char** argv, int usual_trials, Tables tables) {
  if (argc > 2 || (argc == 2 && std::atoi(argv[1]) < 100)) {
    fmt::print(stderr, "usage: {} [TRIALS], 100 or more\n", argv[0]);
    return 2;
  }
  trials = argc == 2 ? std::atoi(argv[1]) : usual_trials;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  tables();
  fmt::print("\n{}\n", failed ? "FAIL: a bound does not hold" : "every bound holds");
  return failed ? 1 : 0;
}

}  // namespace blksweep::study
