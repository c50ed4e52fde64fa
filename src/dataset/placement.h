// Placement: what FIEMAP's answers mean on one filesystem: which addresses are bytes on the device.
//
// ext4 and xfs report bytes on their block device; btrfs reports logical addresses, which are
// translated for ordering; everywhere else extents are kept without an address.
// Threads: one owner.
#pragma once

#include <linux/fiemap.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/catalog_parts.h"
#include "dataset/scan.h"
#include "os/block/btrfs_chunks.h"
#include "os/file/fiemap.h"

namespace blksweep {

class Placement {
 public:
  // Fills device, node, partition and block facts of `parts`. What is not known or not readable is
  // a warning in the report; an Error where the filesystem does not answer at all.
  static Result<Placement> find(const std::string& root, int root_fd, CatalogParts& parts,
                                ScanReport& report);

  // Appends the extents of the open file number `file`, clipped to those that hold bytes of it.
  // 0, also where FIEMAP is refused (the file then has no address), or the errno of a bad file.
  int append_extents(int fd, std::uint32_t file, std::uint64_t size, bool encrypted);
  // The same for a file as statx(2) describes it: encrypted ones, and those on another filesystem
  // than the root, whose extents have no address here.
  int append_of(int fd, std::uint32_t file, const struct statx& st);
  bool elsewhere(const struct statx& st) const;
  // A warning when FIEMAP was refused for files that would have addresses.
  void report_refusals(ScanReport& report) const;
  // One extent over the whole file, without an address.
  void append_unknown(std::uint32_t file, std::uint64_t size);

  std::vector<ExtentRecord>& extents() { return extents_; }

 private:
  void append(const fiemap_extent& e, std::uint32_t file, std::uint32_t extra_flags);
  void append_translated(ExtentRecord e);
  bool on_realtime_device(int fd) const;

  ExtentReader reader_;
  std::vector<ExtentRecord> extents_;
  std::optional<BtrfsChunks> chunks_;  // btrfs with known chunks
  bool addresses_ = false;
  std::uint64_t device_ = 0;   // st_dev of the root
  std::uint64_t refused_ = 0;  // files for which FIEMAP was, last with errno refusal_
  int refusal_ = 0;
  bool realtime_ = false;  // xfs with a realtime section: ask each file
  std::uint64_t block_mask_ = kPageBytes - 1;
};

}  // namespace blksweep
