#include "probe/choose_programs_bpf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "probe/alone_bpf.h"
#include "probe/probe_programs.h"

namespace blksweep {
namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool asks(const WantedProbe& wanted, ProbeUse use) {
  return use == ProbeUse::always ||
         (use == ProbeUse::layers ? wanted.layers : wanted.origins && !wanted.origins_refused);
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
    const bool asked = asks(wanted, use.use) && !has(wanted.refused, use.tracepoint);
    if (asked && !has(wanted.without, use.tracepoint) &&
        btf__find_by_name_kind(kernel.get(), name.c_str(), BTF_KIND_TYPEDEF) > 0) {
      continue;
    }
    if (use.without == nullptr) {
      return unsupported(
          fmt::format("block probe: this kernel has no tracepoint {}", use.tracepoint));
    }
    leave_out(skeleton.obj, use.program);
    if (asked) {
      warnings.push_back(fmt::format("no tracepoint {}: {}", use.tracepoint, use.without));
    }
  }
  return warnings;
}

}  // namespace blksweep
