// Whether a run began as its cell asks and stayed so: cold and served by the device, or warm.
//
// Expected: what the device must read at least, extent by extent: plain extents only. Holes and
//          unwritten or inline extents need no device, and what compressed ones need is not known.
//          Direct reads take each byte from it, in every epoch; buffered ones once, and then from
//          the page cache that the run itself has filled. A file with several names is one there.
// Read:    what this process itself made the device read (os/block/own_reads.h). Where that is not
//          known, what the disk read: then others may have read it, and may have filled the page
//          cache.
// Unknown: residency that could not be examined is no residency of 0.
// Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/memory/inode_holders.h"
#include "os/memory/residency.h"
#include "plan/plan.h"

namespace blksweep {

std::uint64_t expected_device_bytes(const Catalog& catalog, const Plan& plan, bool direct);
// Of the samples, each once: where they lie nobody tells (overlay, network filesystems).
std::uint64_t unplaced_bytes(const Catalog& catalog);

// The resident share; unknown where a file could not be examined, or where there are no bytes.
std::optional<double> known_share(const Residency& r);
// Why it is not known; empty when it is.
std::string unexamined(const Residency& r);

struct ColdStart {
  std::uint64_t bytes = 0;         // of the data
  std::optional<double> resident;  // before the run
  std::string unexamined;          // why that is unknown
  double pinned_share = 0;         // that is meant to be resident
  std::uint64_t pinned_bytes = 0;
  std::optional<std::uint64_t> own_bytes;     // that this process made devices read
  std::optional<std::uint64_t> device_bytes;  // that the disk read; unknown without statistics
  std::uint64_t expected = 0;
  std::uint64_t unplaced = 0;  // bytes of the data without an address: a device may give them
  bool direct = true;
  bool one_disk = false;  // what was read on other disks was not the data
};

struct CacheVerdict {
  std::string incomplete;  // why the run is; empty: it is not
  std::string warning;
};
CacheVerdict judge_cold(const ColdStart& start);

// A file whose inode stays is opened without the disk: a cold run of such is another one.
CacheVerdict judge_inodes(const InodeHolders& found);

// Of buffered reads whose pages were all to be there, and to stay.
struct WarmStart {
  std::uint64_t bytes = 0;                     // that were delivered
  std::optional<double> resident = {};         // share of the data when the run began
  std::optional<std::uint64_t> own_bytes;      // that this process made devices read
  std::optional<std::uint64_t> device_bytes;   // that the disk read
  std::uint64_t reads = 0;                     // that were submitted
  std::optional<std::uint64_t> requests = {};  // that the disk read, of everybody
  bool one_disk = true;  // what this process read elsewhere (its own program) was not data
};
CacheVerdict judge_warm(const WarmStart& start);

// Of the files: compressed, encrypted or inline. Filesystems that cannot read those directly answer
// direct reads through the page cache and do not say so.
std::uint64_t indirect_bytes(const Catalog& catalog);

// Of reads of files that were to be direct.
struct DirectReads {
  std::uint64_t bytes = 0, indirect_bytes = 0;            // of the files
  std::optional<double> resident_before, resident_after;  // shares of the data
  std::uint64_t delivered = 0;
  std::optional<std::uint64_t> own_bytes;  // that this process made devices read
  std::uint32_t epochs = 1;
  bool cold = true;
};
CacheVerdict judge_direct(const DirectReads& reads);

}  // namespace blksweep
