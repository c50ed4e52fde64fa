// FileOpener: opens the files of an OpenPlan ahead of the reader, on threads of its own, so that a
// cold inode is fetched while reads are in flight instead of between them, and closes them there.
//
// Ownership: owns the descriptors that wait to be taken, `ahead` at most, and those that wait to be
//            closed, `closing` at most; take() hands one over.
// Errors:    take() gives -errno for a file that cannot be opened.
// Order:     opens finish in any order, take() is called in order: 0, 1, 2 ...
// Threads:   take() and close() on the reader's thread; with 0 threads they do it themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dataset/data_files.h"
#include "loader/thread_role.h"

namespace blksweep {

class FileOpener {
 public:
  struct Settings {
    unsigned threads = 1;
    std::uint32_t ahead = 256;    // descriptors that may wait, 2 at least
    std::uint32_t closing = 256;  // and to be closed; 0: the reader closes
    PlaceThread place = {};
    int flags = 0;  // of each open: O_DIRECT
  };
  FileOpener(const DataFiles& data, const std::vector<std::uint32_t>& files,
             const Settings& settings);
  ~FileOpener();
  FileOpener(const FileOpener&) = delete;
  FileOpener& operator=(const FileOpener&) = delete;

  void start();
  int take(std::uint32_t open);
  // When an opener has time, else at once: `fd` has made room for open number `open`.
  void close(std::uint32_t open, Fd fd);

 private:
  static constexpr int kEmpty = -0x7FFFFFFF;  // no descriptor and no errno

  void open_ahead();
  bool close_what_waits();  // whether anything did
  bool wait_for_room(std::uint32_t open);

  const DataFiles& data_;
  const std::vector<std::uint32_t>& files_;
  const std::uint32_t ahead_;
  std::vector<std::atomic<int>> ring_;     // open % ahead_ -> descriptor, -errno or kEmpty
  std::vector<std::atomic<int>> closing_;  // by open, too -> descriptor or kEmpty
  std::atomic<std::uint32_t> claimed_{0};  // next open that nobody works on
  std::atomic<std::uint32_t> taken_{0};    // opens that the reader has
  std::atomic<bool> stop_{false};
  std::string path_;
  unsigned thread_count_;
  int flags_;
  PlaceThread place_;
  std::vector<std::thread> threads_;
};

}  // namespace blksweep
