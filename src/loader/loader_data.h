// What a LoaderData holds, for the loaders that are opened of it.
//
// Watch: files of the set that were closed after writing or renamed since they were compared with
//        the catalog last, and folders above them that were changed or renamed. Who still has one
//        open for writing is seen when he closes it. Where a name is a link nothing is watched:
//        all files are compared each time. So they are where something else is mounted over them.
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dataset/folder_times.h"
#include "loader/loader.h"
#include "loader/source.h"
#include "loader/spare_memory.h"
#include "os/file/write_watch.h"

namespace blksweep {

struct LoaderData::State {
  std::shared_ptr<const Source> source;
  std::uint64_t identity = 0;
  SpareMemory memory;

  // Before files are looked at, to be told after it: what happens in between counts.
  void begin_look(const std::string& root);
  void looked();                                      // they are as the catalog says
  bool untouched();                                   // since then
  std::shared_ptr<const FolderTimes> folder_times();  // when they had been looked at
  void proven();        // what the device gave was compared with files of every part of it
  bool proven_since();  // and nobody has touched them

 private:
  bool written();
  bool mounted();

  std::mutex mutex_;
  std::optional<WriteWatch> watch_;
  std::vector<std::uint64_t> folders_;  // inodes
  std::vector<std::uint64_t> mounts_;   // around the root, by id
  std::shared_ptr<const FolderTimes> folder_times_;
  bool as_catalogued_ = false, proven_ = false;
};

// For programs of this project, which open the source themselves.
struct LoaderDataOf {
  static std::shared_ptr<const LoaderData> source(Source source);
};

}  // namespace blksweep
