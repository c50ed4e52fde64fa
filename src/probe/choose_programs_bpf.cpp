#include "probe/choose_programs_bpf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>

#include "probe/probe_programs.h"

namespace blksweep {
namespace {

bool asks(const WantedProbe& wanted, ProbeUse use) {
  return use == ProbeUse::always || (use == ProbeUse::layers ? wanted.layers : wanted.origins);
}

}  // namespace

Result<std::vector<std::string>> choose_programs(block_probe& skeleton, const WantedProbe& wanted) {
  const BtfPtr kernel(btf__load_vmlinux_btf());
  if (!kernel) {
    return unsupported(kNoBtf);
  }
  std::vector<std::string> warnings;
  for (const ProbeProgram& use : kProbePrograms) {
    const std::string name = fmt::format("btf_trace_{}", use.tracepoint);
    const bool left_out = std::ranges::find(wanted.without, use.tracepoint) != wanted.without.end();
    const bool asked = asks(wanted, use.use);
    if (asked && !left_out &&
        btf__find_by_name_kind(kernel.get(), name.c_str(), BTF_KIND_TYPEDEF) > 0) {
      continue;
    }
    if (use.without == nullptr) {
      return unsupported(
          fmt::format("block probe: this kernel has no tracepoint {}", use.tracepoint));
    }
    bpf_program__set_autoload(bpf_object__find_program_by_name(skeleton.obj, use.program), false);
    if (asked) {
      warnings.push_back(fmt::format("no tracepoint {}: {}", use.tracepoint, use.without));
    }
  }
  return warnings;
}

}  // namespace blksweep
