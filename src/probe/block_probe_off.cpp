// Linked in place of block_probe_bpf.cpp with BPF=0.
#include "probe/block_probe.h"
#include "probe/probe_programs.h"

namespace blksweep {

Result<std::unique_ptr<BlockProbe>> open_block_probe(dev_t, const ProbeSettings&) {
  return unsupported(kWithoutBpf);
}

}  // namespace blksweep
