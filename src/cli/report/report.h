// The report of `blksweep report`, for verbs that end in one.
#pragma once

#include <string>

#include "base/result.h"

namespace blksweep {

struct ReportRequest {
  std::string db;
  std::string out;          // folder; empty: only what is printed
  std::string experiments;  // "1,3"
  bool json = false;
};
Result<Exit> make_report(const ReportRequest& request);

}  // namespace blksweep
