// Which of fio's engines reads as an engine of ours does.
//
// Source:  docs/fio-twin.md; fio(1), I/O engine.
// Threads: pure functions.
#pragma once

#include <string_view>

#include "io/engine.h"

namespace blksweep {

struct FioEngine {
  EngineKind engine;
  std::string_view ioengine;  // empty: there is none, because
  std::string_view options;   // lines of the job that it needs beside
  std::string_view without;
};

const FioEngine& fio_engine(EngineKind engine);

}  // namespace blksweep
