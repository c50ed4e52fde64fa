// Writes samples' content through one reused buffer, and tells the progress.
//
// Ownership: keeps a reference to the job and one descriptor of the data set's directory.
// Threads:   one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "dataset/make_writers.h"

namespace blksweep {

class SampleWriter {
 public:
  explicit SampleWriter(const WriteJob& job);
  Result<> make_class_folders();
  // Opens `path` below the directory for writing.
  Result<Fd> create(const std::string& path, int flags);
  // All bytes of a sample, at the descriptor's position.
  Result<> write_sample(int fd, std::uint64_t number, const std::string& path);
  int directory() const { return directory_.get(); }

 private:
  const WriteJob& job_;
  Fd directory_;
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0, bytes_ = 0;
};

}  // namespace blksweep
