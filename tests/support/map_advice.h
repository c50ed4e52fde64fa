// What the kernel was told of a mapping of this process (VmFlags of /proc/self/smaps: rr, sr).
#pragma once

#include <fstream>
#include <string>

namespace blksweep::support {

// Of the first mapping of that file: "random", "sequential" or "normal"; empty: there is none.
inline std::string map_advice(const std::string& file) {
  std::ifstream in("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(in, line);) {
    found = found || line.ends_with(" " + file);
    if (found && line.starts_with("VmFlags:")) {
      line += ' ';
      return line.find(" rr ") != std::string::npos   ? "random"
             : line.find(" sr ") != std::string::npos ? "sequential"
                                                      : "normal";
    }
  }
  return "";
}

}  // namespace blksweep::support
