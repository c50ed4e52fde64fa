// PackOutput: the folder that a data set is packed into; all of it appears at the end, or nothing.
//
// Until finish() everything lies in a working folder inside (kPackFolder), which the scan does not
// look into; finish() moves it to its names and writes the manifest last.
//
// Errors:  what the system says of the file being written; a name that somebody has taken. The
//          destructor takes back what was not finished. Where it cannot, or after a crash, a
//          working folder without a manifest stays: refuse_cut_off_pack() knows it.
// Threads: one owner.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "dataset/pack.h"

namespace blksweep {

struct StoredAt {
  std::string file;  // relative to the packed folder
  std::uint64_t offset;
};

class PackOutput {
 public:
  static Result<PackOutput> begin(const PackSettings& settings);
  PackOutput(PackOutput&& o) noexcept;
  PackOutput& operator=(PackOutput&&) = delete;
  ~PackOutput();

  // One stored sample under its path in the source, which gets kPackedSuffix. Its file may be read
  // by whom the source may be read by, a shard by whom all of its samples' sources may; the umask
  // takes away more.
  struct Stored {
    const std::string& path;
    std::span<const std::byte> bytes;
    mode_t mode;
  };
  Result<StoredAt> add(const Stored& sample);
  Result<> finish(const std::string& manifest);
  // Where the index goes before finish().
  std::string index_path() const;
  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const;  // of these files, once they are closed

 private:
  PackOutput(std::string directory, PackLayout layout, Bytes shard, bool made)
      : directory_(std::move(directory)), layout_(layout), shard_(shard), made_(made) {}
  Result<StoredAt> add_file(const std::string& path, const Stored& sample);
  Result<StoredAt> add_member(const std::string& path, const Stored& sample);
  Result<> close_to_others(mode_t mode);
  Result<> close_shard();
  Result<> place();
  bool take_back();
  std::string incoming() const;

  std::string directory_;
  PackLayout layout_;
  Bytes shard_;
  bool made_;  // the folder was not there before
  bool finished_ = false;
  std::string folder_ = "/";  // made last
  Fd tar_;
  std::string tar_name_;
  mode_t tar_mode_ = 0;     // of the open shard
  std::uint64_t used_ = 0;  // of the open shard
  std::uint64_t files_ = 0, bytes_ = 0;
  std::vector<std::string> placed_;  // under their final names, before there is a manifest
};

}  // namespace blksweep
