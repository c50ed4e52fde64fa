// Loads the programs of block_probe.bpf.c as somebody wants them. Private to src/probe.
//
// Errors:  Exit::unsupported with the cause and the way out. Where the kernel refuses a program
//          that is not essential, those that are essential alone, with a warning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/blockdev.h"
#include "probe/disk_queue.h"
#include "probe/handles_bpf.h"

namespace blksweep {

struct WantedProbe {
  BlockDevice disk;
  DiskQueue queue;
  bool layers = false, origins = false;  // as in ProbeSettings
  std::vector<std::string> without;      // tracepoints that count as refused

  unsigned issue_bits() const {
    return layers || origins ? BLK_PROBE_LAYER_BITS : BLK_PROBE_ISSUE_BITS;
  }
  std::size_t passed() const { return layers ? std::size_t{1} << BLK_PROBE_LAYER_BITS : 1; }
};

struct LoadedProbe {
  SkeletonPtr skeleton;
  std::vector<std::string> warnings;
};

Result<LoadedProbe> load_probe(const WantedProbe& wanted);
// Why the kernel did not take something of the probe of `disk`.
tl::unexpected<Error> probe_refused(const std::string& disk, int errnum);

}  // namespace blksweep
