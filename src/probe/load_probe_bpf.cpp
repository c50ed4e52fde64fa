#include "probe/load_probe_bpf.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "probe/alone_bpf.h"
#include "probe/choose_programs_bpf.h"
#include "probe/libbpf_words.h"
#include "probe/probe_programs.h"
#include "probe/refused.h"

namespace blksweep {

tl::unexpected<Error> probe_refused(const std::string& disk, int errnum) {
  return refused_by_bpf("block probe of " + disk, errnum, LibbpfWords::last(),
                        "report it with `uname -r`; a run works with --no-probe");
}

namespace {

void set_up(block_probe& s, const WantedProbe& wanted, bool origins) {
  const BlockDevice& disk = wanted.disk;
  const DiskQueue& queue = wanted.queue;
  s.rodata->disk_major = static_cast<int>(major(disk.whole_disk));
  s.rodata->disk_minor = static_cast<int>(minor(disk.whole_disk));
  s.rodata->hw_queues = queue.hw_queues;
  s.rodata->slot_bits = queue.slot_bits;
  s.rodata->issue_bits = wanted.issue_bits();
  s.rodata->follow_layers = wanted.layers;
  s.rodata->follow_origins = origins;
  bpf_map__set_max_entries(s.maps.slots, queue.hw_queues << queue.slot_bits);
  bpf_map__set_max_entries(s.maps.issues, 1U << wanted.issue_bits());
  bpf_map__set_max_entries(s.maps.queued, static_cast<__u32>(wanted.passed()));
  bpf_map__set_max_entries(s.maps.inserted, static_cast<__u32>(wanted.passed()));
}

// Set up, and not yet loaded.
Result<LoadedProbe> opened(const WantedProbe& wanted) {
  LibbpfWords::forget();
  LoadedProbe out{.skeleton = SkeletonPtr(block_probe__open()),
                  .origins = wanted.origins && !wanted.origins_refused,
                  .warnings = {}};
  if (!out.skeleton) {
    return probe_refused(wanted.disk.disk, errno);
  }
  BLKSWEEP_TRY(out.warnings, choose_programs(*out.skeleton, wanted));
  set_up(*out.skeleton, wanted, out.origins);
  for (const std::string& name : wanted.spoilt) {
    for (const ProbeProgram& use : kProbePrograms) {
      if (name == use.tracepoint || (name == "origins" && out.origins && use.without == nullptr)) {
        spoil(out.skeleton->obj, use.program);
      }
    }
  }
  return out;
}

Result<LoadedProbe> load(const WantedProbe& wanted) {
  BLKSWEEP_TRY(LoadedProbe probe, opened(wanted));
  if (const int err = block_probe__load(probe.skeleton.get()); err != 0) {
    return probe_refused(wanted.disk.disk, -err);
  }
  // libbpf goes on without where its own trial of mapped memory failed.
  return probe.skeleton->bss != nullptr ? Result<LoadedProbe>(std::move(probe))
                                        : probe_refused(wanted.disk.disk, ENOMEM);
}

Result<std::string> refusal_of(const WantedProbe& wanted, const ProbeProgram& use) {
  BLKSWEEP_TRY(const LoadedProbe probe, opened(wanted));
  return is_chosen(probe.skeleton->obj, use.program)
             ? refusal_alone(probe.skeleton, block_probe__load, use.program)
             : std::string();
}

// Of a program that nothing works without: it may be taken once it does not look at origins.
Result<> leave_out_origins(WantedProbe& wanted, const ProbeProgram& use, std::string refusal,
                           std::vector<std::string>& warnings) {
  if (wanted.origins && !wanted.origins_refused) {
    wanted.origins_refused = true;
    warnings.push_back("who made a request, and what for, is not known: " + refusal);
    BLKSWEEP_TRY(refusal, refusal_of(wanted, use));
  }
  return refusal.empty() ? Result<>()
                         : Result<>(unsupported(fmt::format(
                               "block probe of {}: tracepoint {}: {}: a run works with --no-probe",
                               wanted.disk.disk, use.tracepoint, refusal)));
}

// What is left of `wanted` without what the kernel refuses, with a warning for each.
Result<std::vector<std::string>> leave_out_refused(WantedProbe& wanted) {
  std::vector<std::string> warnings;
  for (const ProbeProgram& use : kProbePrograms) {
    BLKSWEEP_TRY(const std::string refusal, refusal_of(wanted, use));
    if (refusal.empty()) {
      continue;
    }
    if (use.without == nullptr) {
      BLKSWEEP_CHECK(leave_out_origins(wanted, use, refusal, warnings));
    } else {
      wanted.refused.emplace_back(use.tracepoint);
      warnings.push_back(
          fmt::format("tracepoint {}: {}: {}", use.tracepoint, refusal, use.without));
    }
  }
  return warnings;
}

}  // namespace

Result<LoadedProbe> load_probe(WantedProbe wanted) {
  Result<LoadedProbe> all = load(wanted);
  if (all || ::geteuid() != 0) {
    return all;
  }
  Result<std::vector<std::string>> warnings = leave_out_refused(wanted);
  if (!warnings) {
    return tl::unexpected(warnings.error());
  }
  if (warnings->empty()) {
    return all;
  }
  Result<LoadedProbe> some = load(wanted);
  if (some) {
    std::ranges::move(*warnings, std::back_inserter(some->warnings));
  }
  return some;
}

}  // namespace blksweep
