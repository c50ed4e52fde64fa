#include "probe/cache/choose_cache_programs_bpf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>

#include "probe/alone_bpf.h"
#include "probe/cache/cache_programs.h"
#include "probe/handles_bpf.h"
#include "probe/probe_programs.h"

namespace blksweep {
namespace {

bool has_tracepoint(const btf* kernel, const CacheProgram& use) {
  const std::string name = fmt::format("btf_trace_{}", use.tracepoint);
  if (btf__find_by_name_kind(kernel, name.c_str(), BTF_KIND_TYPEDEF) > 0) {
    return true;
  }
  const BtfPtr module(use.filesystem == nullptr
                          ? nullptr
                          : btf__load_module_btf(use.filesystem, const_cast<btf*>(kernel)));
  return module && btf__find_by_name_kind(module.get(), name.c_str(), BTF_KIND_TYPEDEF) > 0;
}

bool is_for(const CacheProgram& use, const std::string& filesystem) {
  return use.filesystem == nullptr || use.filesystem == filesystem;
}

}  // namespace

Result<std::vector<std::string>> choose_cache_programs(bpf_object* programs,
                                                       const std::vector<std::string>& without,
                                                       const std::string& filesystem) {
  const BtfPtr kernel(btf__load_vmlinux_btf());
  if (!kernel) {
    return unsupported(kNoBtf);
  }
  std::vector<std::string> missing;
  for (const CacheProgram& use : kCachePrograms) {
    if (!is_for(use, filesystem)) {
      leave_out(programs, use.program);
      continue;
    }
    const bool left_out = std::ranges::find(without, use.tracepoint) != without.end();
    if (!left_out && has_tracepoint(kernel.get(), use)) {
      continue;
    }
    if (use.without == nullptr) {
      return unsupported(
          fmt::format("cache probe: this kernel has no tracepoint {}", use.tracepoint));
    }
    leave_out(programs, use.program);
    if (missing.empty() || !missing.back().ends_with(use.without)) {  // once for all that it takes
      missing.push_back(fmt::format("no tracepoint {}: {}", use.tracepoint, use.without));
    }
  }
  return missing;
}

}  // namespace blksweep
