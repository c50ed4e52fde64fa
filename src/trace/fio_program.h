// The fio that a twin would run.
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

// "fio-3.33"; Exit::unsupported when fio is not installed. Threads: any; waits 30 s at most.
Result<std::string> fio_version();

}  // namespace blksweep
