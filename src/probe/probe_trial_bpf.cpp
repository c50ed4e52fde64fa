#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <memory>

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

// Only this one of the object's programs; "" when the kernel takes it.
std::string try_program(const char* name, bool attach) {
  LibbpfWords::forget();
  const SkeletonPtr s(block_probe__open());
  if (!s) {
    return refusal_of("open", errno);
  }
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, s->obj) {
    bpf_program__set_autoload(program, std::strcmp(bpf_program__name(program), name) == 0);
  }
  if (const int err = block_probe__load(s.get()); err != 0) {
    return refusal_of("load", -err);
  }
  if (!attach) {
    return {};
  }
  const LinkPtr link(bpf_program__attach(bpf_object__find_program_by_name(s->obj, name)));
  return link ? "" : refusal_of("attach", errno);
}

bool has_tracepoint(const btf* kernel, const std::string& name) {
  return btf__find_by_name_kind(kernel, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

}  // namespace

Result<std::vector<ProgramTrial>> try_probe_programs() {
  const LibbpfWords quiet;
  const BtfPtr kernel(btf__load_vmlinux_btf());
  if (!kernel) {
    return unsupported(kNoBtf);
  }
  std::vector<ProgramTrial> trials;
  for (const ProbeProgram& p : kProbePrograms) {
    ProgramTrial t{p.tracepoint, {}, p.without == nullptr ? "" : p.without};
    t.refusal = has_tracepoint(kernel.get(), p.tracepoint) ? try_program(p.program, true)
                                                           : "not in this kernel";
    trials.push_back(std::move(t));
  }
  trials.push_back(
      {"timer", try_program("start_ticks", false), "the depth over time is not recorded"});
  return trials;
}

}  // namespace blksweep
