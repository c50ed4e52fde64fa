// Linked in place of cache_probe_bpf.cpp with BPF=0.
#include "probe/cache/cache_probe.h"
#include "probe/probe_programs.h"

namespace blksweep {

Result<std::unique_ptr<CacheProbe>> open_cache_probe(const CacheProbeSettings&) {
  return unsupported(kWithoutBpf);
}

}  // namespace blksweep
