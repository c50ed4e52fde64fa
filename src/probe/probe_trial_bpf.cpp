#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "probe/handles_bpf.h"
#include "probe/libbpf_words.h"
#include "probe/probe_programs.h"
#include "probe/probe_trial.h"

namespace blksweep {
namespace {

std::string refusal_of(const char* step, int err) {
  const std::string& words = LibbpfWords::last();
  return std::string(step) + ": " + std::strerror(err) + (words.empty() ? "" : " (" + words + ")");
}

constexpr const char* kTimer = "start_ticks";

// These of the object's programs; null with the reason when the kernel does not take one of them.
struct Loaded {
  SkeletonPtr object;
  std::string refusal = {};
};
Loaded load(const std::vector<std::string>& names) {
  LibbpfWords::forget();
  SkeletonPtr s(block_probe__open());
  if (!s) {
    return {nullptr, refusal_of("open", errno)};
  }
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, s->obj) {
    bpf_program__set_autoload(program, std::ranges::count(names, bpf_program__name(program)) > 0);
  }
  if (const int err = block_probe__load(s.get()); err != 0) {
    return {nullptr, refusal_of("load", -err)};
  }
  return {std::move(s)};
}

// "" when the kernel takes it.
std::string attach(const block_probe& object, const char* name) {
  LibbpfWords::forget();
  const LinkPtr link(bpf_program__attach(bpf_object__find_program_by_name(object.obj, name)));
  return link ? "" : refusal_of("attach", errno);
}

bool has_tracepoint(const btf* kernel, const std::string& name) {
  return btf__find_by_name_kind(kernel, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

// All at once, which most kernels take: each load reads the kernel's types anew.
Loaded load_all(const btf* kernel) {
  std::vector<std::string> names{kTimer};
  for (const ProbeProgram& p : kProbePrograms) {
    if (has_tracepoint(kernel, p.tracepoint)) {
      names.emplace_back(p.program);
    }
  }
  return load(names);
}

std::string try_program(const Loaded& all, const char* name) {
  const Loaded alone = all.object ? Loaded{} : load({name});
  const SkeletonPtr& object = all.object ? all.object : alone.object;
  return object && std::strcmp(name, kTimer) != 0 ? attach(*object, name) : alone.refusal;
}

}  // namespace

Result<std::vector<ProgramTrial>> try_probe_programs() {
  const LibbpfWords quiet;
  const BtfPtr kernel(btf__load_vmlinux_btf());
  if (!kernel) {
    return unsupported(kNoBtf);
  }
  const Loaded all = load_all(kernel.get());
  std::vector<ProgramTrial> trials;
  for (const ProbeProgram& p : kProbePrograms) {
    ProgramTrial t{p.tracepoint, {}, p.without == nullptr ? "" : p.without};
    t.refusal = has_tracepoint(kernel.get(), p.tracepoint) ? try_program(all, p.program)
                                                           : "not in this kernel";
    trials.push_back(std::move(t));
  }
  trials.push_back({"timer", try_program(all, kTimer), "the depth over time is not recorded"});
  return trials;
}

}  // namespace blksweep
