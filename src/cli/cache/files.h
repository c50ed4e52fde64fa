// The parts of `blksweep cache drop|warm|stat`: options, and what they share in text and JSON.
//
// Words of the JSON: docs/cache.md. Unknown is null.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "node/cache/tree.h"
#include "os/memory/residency.h"

namespace blksweep {

struct CacheFilesOptions {
  std::vector<std::string> paths;
  bool pages = false, inodes = false, all = false, json = false;
};

Result<Exit> cache_drop(const CacheFilesOptions& options);
Result<Exit> cache_warm(const CacheFilesOptions& options);
Result<Exit> cache_stat(const CacheFilesOptions& options);

// All paths are looked at before anything is done to one.
Result<std::vector<FileSet>> file_sets(const std::vector<std::string>& paths);
// What could not be listed, other filesystems, caveats of this one: facts with their consequence.
std::vector<std::string> warnings_of(const FileSet& files);
std::string unreadable_text(const Residency& r);  // a warning; empty when all could be read

Json residency_json(const Residency& r);
std::string percent_text(const Residency& r);       // "100.00 %", "-" without bytes
std::uint64_t pages_to_bytes(std::uint64_t pages);  // of the system's size
bool utf8_terminal();                               // by LC_ALL, LC_CTYPE, LANG
std::string residency_bar(const std::vector<double>& shares, bool utf8);  // a character a cell

// One line on stderr while something is counted up: rewritten on a terminal, else now and then.
//
// Threads: prints from one of its own, which ends with the object.
class CountLine {
 public:
  CountLine(const char* what, std::uint64_t total, bool in_bytes);
  ~CountLine();
  CountLine(const CountLine&) = delete;
  CountLine& operator=(const CountLine&) = delete;
  std::atomic<std::uint64_t>& at() { return at_; }

 private:
  std::string text(double seconds) const;

  const char* what_;
  std::uint64_t total_;
  bool in_bytes_;
  std::atomic<std::uint64_t> at_{0};
  std::jthread thread_;
};

}  // namespace blksweep
