// RamCopy: files of a data set on a disk in memory: the emulated one without any delay. No order of
// reading can gain a seek there; what it gains is the cost of the host (docs/controls.md).
//
// What:    all files, or as many, drawn at random, as kMostRamBytes and a quarter of the free
//          memory hold, under their paths. They are read once, in the order of their addresses, and
//          leave the page cache again.
// Merging: is off on that disk (queue/nomerges 2), so that all orders make the same requests.
// Ends:    down(), the destructor, the next start on the same data or `blksweep node restore` take
//          it away, however the program ended.
// Errors:  Exit::unsupported where emulated disks are; Exit::interrupted; another session that has
//          a copy of the same data is named.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "node/journal/borrowing.h"
#include "os/file/private_folder.h"
#include "plan/catalog.h"

namespace blksweep {

inline constexpr std::uint64_t kMostRamBytes = std::uint64_t{48} << 20;

class RamCopy {
 public:
  static Result<RamCopy> make(const Catalog& catalog, std::uint64_t seed);
  std::string folder() const;  // with the files
  std::size_t files() const { return files_; }
  Result<> down();

 private:
  RamCopy(PrivateFolder mount, Borrowing borrowing)
      : mount_(std::move(mount)), borrowing_(std::move(borrowing)) {}

  PrivateFolder mount_;
  Borrowing borrowing_;  // goes first
  std::size_t files_ = 0;
};

}  // namespace blksweep
