// What the reads of a watched disk were for, by a data set that lies on it: `probe --catalog`.
//
// Errors:  a data set that cannot be opened, or lies on another disk (usage).
// Threads: the main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/request_origin.h"
#include "base/result.h"
#include "loader/source.h"
#include "os/block/blockdev.h"
#include "probe/attribution.h"

namespace blksweep {

struct WatchedData {
  Source source;
  OwnerMap map;
};

// `path`: a catalog's file, or the folder of a data set, which is scanned.
Result<std::unique_ptr<WatchedData>> watched_data(const std::string& path,
                                                  const BlockDevice& device);

struct FileTraffic {
  std::string root;  // of the data set
  Attribution found;
  OtherRequests others;
  std::uint64_t seen = 0, requests = 0;  // reads in `found`, and all: a full log keeps every n-th
  bool numbers_known = true;  // processes have the numbers that they have for this process
};

// `counts`: of the time that `reads` are of.
FileTraffic traffic_of(const WatchedData& data, const std::vector<ProbeIssue>& reads,
                       const ProbeReport& counts);

// Which files that were read (or, where anything was read elsewhere, of all) lie elsewhere by now
// than the catalog says, or are others; "": none.
Result<std::string> moved_meanwhile(const WatchedData& data, const FileTraffic& traffic);

// As `attribution` of a run, with `seen_requests`, `requests` and `processes`.
Json traffic_json(const FileTraffic& traffic);
std::string traffic_text(const FileTraffic& traffic);
// For a screen: classes in one line, then so many files.
std::vector<std::string> traffic_lines(const FileTraffic& traffic, std::size_t files);

}  // namespace blksweep
