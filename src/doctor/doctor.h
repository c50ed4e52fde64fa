// examine_node: what works on this node for runs on one path, what does not, and what to do.
//
// Each check tries the thing itself, through the function that a run calls, so that its line agrees
// with what a run then does (docs/doctor.md lists them all).
//
// Effects: none that last. Programs, rings and buffers are let go at once; nothing is written,
//          no module is loaded; one file of the data is opened and read a little.
// Ready:   the main job can run: psync and path order on the given folder, whatever else is
//          missing.
// Errors:  a path that does not exist, in one line.
// Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace blksweep {

enum class Health { ok, limited, missing };
std::string_view to_string(Health h);

struct Check {
  std::string name;
  Health state = Health::ok;
  std::string found;
  std::string consequence, fix;  // empty when it is ok
};

struct DoctorSettings {
  std::string path = ".";       // folder or file of the data, or a block device
  Result<std::string> figures;  // the Python that draws, or why there is none
};

struct DoctorReport {
  std::vector<Check> checks;
  bool ready = false;
};

Result<DoctorReport> examine_node(const DoctorSettings& settings);

}  // namespace blksweep
