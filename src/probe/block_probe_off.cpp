// Linked in place of block_probe_bpf.cpp with BPF=0.
#include "probe/block_probe.h"

namespace blksweep {

Result<std::unique_ptr<BlockProbe>> open_block_probe(dev_t) {
  return unsupported(
      "block probe: built without BPF (clang, bpftool or libbpf missing): make BPF=1");
}

}  // namespace blksweep
