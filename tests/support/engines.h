// The engines that tests go over: all of them (io/engine.h has the one list), by what they can
// read.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "io/engine.h"

namespace blksweep::support {

// Of files anywhere. One that polls a device needs a disk of its own (tests/guest).
inline std::vector<EngineKind> buffered_engines() {
  std::vector<EngineKind> out;
  std::ranges::copy_if(kEngines, std::back_inserter(out),
                       [](EngineKind k) { return traits_of(k).buffered; });
  return out;
}

// As googletest wants a name.
inline std::string engine_name(const testing::TestParamInfo<EngineKind>& info) {
  std::string name(to_string(info.param));
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace blksweep::support
