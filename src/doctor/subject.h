// Subject: what the path that doctor was given is, found out as a run would.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/doctor.h"
#include "loader/source.h"

namespace blksweep {

struct Subject {
  std::string path;          // as given
  bool is_device = false;    // a block device: there are no files to look at
  bool is_file = false;      // one file; a run needs the folder
  std::string file;          // one that can be read, the first found; "" when there is none
  std::string no_file;       // why
  bool searched_all = true;  // false: the search for a file ended early
  Source source;             // of that file alone
  std::string filesystem;
  std::vector<std::string> scan_warnings;  // as a scan of the folder would give them
  bool has_extents = false, has_address = false;
  Result<std::string> figures;
};

Result<Subject> look_at(const DoctorSettings& settings);

}  // namespace blksweep
