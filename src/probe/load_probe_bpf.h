// Loads the programs of block_probe.bpf.c as somebody wants them. Private to src/probe.
//
// Errors:  Exit::unsupported with the cause and the way out. A program that is not essential and
//          that the kernel refuses is left out, with a warning that names it; which ones is found
//          by trying each alone, after the kernel refused all together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/block/blockdev.h"
#include "probe/disk_queue.h"
#include "probe/handles_bpf.h"

namespace blksweep {

struct WantedProbe {
  BlockDevice disk;
  DiskQueue queue;
  bool layers = false, origins = false;  // as in ProbeSettings
  std::vector<std::string> without;      // tracepoints that count as missing
  std::vector<std::string> spoilt;       // as in ProbeSettings
  std::vector<std::string> refused;      // tracepoints whose programs are left out without a word
  bool origins_refused = false;          // with room for them in the log, but not followed

  unsigned issue_bits() const {
    return layers || origins ? BLK_PROBE_LAYER_BITS : BLK_PROBE_ISSUE_BITS;
  }
  std::size_t passed() const { return layers ? std::size_t{1} << BLK_PROBE_LAYER_BITS : 1; }
};

struct LoadedProbe {
  SkeletonPtr skeleton;
  bool origins = false;  // are followed
  std::vector<std::string> warnings;
};

Result<LoadedProbe> load_probe(WantedProbe wanted);
// Why the kernel did not take something of the probe of `disk`.
tl::unexpected<Error> probe_refused(const std::string& disk, int errnum);

}  // namespace blksweep
