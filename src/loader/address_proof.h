// AddressProof: the addresses that a run used were those of its files, from before it to its end.
//
// Compared: all extents of the set with the catalog, before and after each run on a filesystem with
//          addresses: they decide the order, the reads, and the seeks that are reported. On others
//          (overlay, network, tmpfs) sizes and times of all files.
// Watched: where bytes come from the device itself, blocks that were moved away and back would be
//          missed so, and they may have held another file's bytes meanwhile. Moving needs the file
//          open for writing; that nobody had is seen by os/file/write_watch.h. Where the watch is
//          refused the run says so.
// Mounted: the data set's directory is on the filesystem that the experiment began with, at either
//          end of each run. An image that is mounted over it may hold files of the same names,
//          inodes, times and extents, and the device that is read is still the first one.
// Renamed: a folder of the set that is exchanged for another one, and back, leaves no trace at its
//          files; FolderTimes before and after each run has it.
// Written: what was dirty is on the device before the first read of it.
// Cost:    AddressFindings::ns; none of it in the epoch.
// Threads: one owner; before(), then the epoch, then after().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/extent_check.h"
#include "dataset/folder_times.h"
#include "loader/settings.h"
#include "loader/source.h"
#include "os/file/write_watch.h"

namespace blksweep {

struct AddressFindings {
  std::string state;                // "watched", "compared" or "changed"; empty: no addresses
  std::vector<std::string> wrong;   // what changed: the epoch is not what it was planned to be
  std::vector<std::string> unsure;  // what could not be seen
  std::string layout;               // layout_hash(); empty: no addresses
  std::int64_t ns = 0;              // what both looks took
};

class AddressProof {
 public:
  AddressProof(const Source& source, const LoaderSettings& settings);

  // Watches from now on, and compares. A source that was made anew after that is a newer look at
  // the same files, and needs no other.
  Result<ExtentCheck> before(const Source& source);
  // In place of before(), where nothing changed since a look before which folders had these times.
  void spared(std::shared_ptr<const FolderTimes> folders) { folders_ = std::move(folders); }
  // Compares again.
  AddressFindings after(const Source& source);

  bool reads_device() const { return reads_device_; }

 private:
  Result<> look(const Source& source, AddressFindings& found);
  std::string open_for_writing(const Source& source, const ExtentCheck& now,
                               AddressFindings& found);

  bool any_, reads_device_;
  std::shared_ptr<const FolderTimes> folders_;  // before; nullptr: not asked
  std::optional<WriteWatch> watch_;
  std::string unwatched_;  // why
  std::int64_t ns_ = 0;
};

// Of all extents: two catalogs of equal hash have their data in the same places.
std::string layout_hash(const Catalog& catalog);
// Why the directory of a source is not what it was when the source was opened; empty: it is.
std::string other_filesystem(const Source& source);
// Why a source is not read as it was catalogued; empty: nothing differs, or places do and it may be
// made anew.
std::string stale_catalog(const Source& source, const ExtentCheck& check);
// What to say of one that is made anew.
std::string moved_text(const Source& source, const ExtentCheck& check);
// Why `now` is not the same files as `then`, wherever they lie; empty: it is.
std::string other_files(const Source& then, const Source& now);

}  // namespace blksweep
