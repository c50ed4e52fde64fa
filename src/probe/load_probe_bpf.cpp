#include "probe/load_probe_bpf.h"

#include <bpf/libbpf.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "probe/choose_programs_bpf.h"
#include "probe/libbpf_words.h"
#include "probe/probe_programs.h"

namespace blksweep {

tl::unexpected<Error> probe_refused(const std::string& disk, int errnum) {
  const std::string cause = sys_error(errnum, "block probe of " + disk).value().message();
  if ((errnum == EPERM || errnum == EACCES) && ::geteuid() != 0) {
    return unsupported(cause + ": run as root (needs CAP_BPF and CAP_PERFMON)");
  }
  const std::string& words = LibbpfWords::last();
  const std::string detail = words.empty() ? "" : " (" + words + ")";
  if (errnum == EPERM) {
    return unsupported(cause + detail +
                       ": needs CAP_BPF and CAP_PERFMON, which a container or kernel lockdown may "
                       "withhold: run on the host");
  }
  return unsupported(cause + detail + ": report it with `uname -r`; a run works with --no-probe");
}

namespace {

// `essential`: without the optional programs, after the kernel refused one of them.
Result<LoadedProbe> load(const WantedProbe& wanted, bool essential) {
  const BlockDevice& disk = wanted.disk;
  const DiskQueue& queue = wanted.queue;
  LibbpfWords::forget();
  LoadedProbe out{.skeleton = SkeletonPtr(block_probe__open()), .warnings = {}};
  if (!out.skeleton) {
    return probe_refused(disk.disk, errno);
  }
  BLKSWEEP_TRY(out.warnings, choose_programs(*out.skeleton, wanted));
  block_probe& s = *out.skeleton;
  for (const ProbeProgram& use : kProbePrograms) {
    if (essential && use.without != nullptr) {
      bpf_program__set_autoload(bpf_object__find_program_by_name(s.obj, use.program), false);
    }
  }
  s.rodata->disk_major = static_cast<int>(major(disk.whole_disk));
  s.rodata->disk_minor = static_cast<int>(minor(disk.whole_disk));
  s.rodata->hw_queues = queue.hw_queues;
  s.rodata->slot_bits = queue.slot_bits;
  s.rodata->issue_bits = wanted.issue_bits();
  s.rodata->follow_layers = wanted.layers;
  s.rodata->follow_origins = wanted.origins;
  bpf_map__set_max_entries(s.maps.slots, queue.hw_queues << queue.slot_bits);
  bpf_map__set_max_entries(s.maps.issues, 1U << wanted.issue_bits());
  bpf_map__set_max_entries(s.maps.queued, static_cast<__u32>(wanted.passed()));
  bpf_map__set_max_entries(s.maps.inserted, static_cast<__u32>(wanted.passed()));
  if (const int err = block_probe__load(&s); err != 0) {
    return probe_refused(disk.disk, -err);
  }
  // libbpf goes on without where its own trial of mapped memory failed.
  return s.bss != nullptr ? Result<LoadedProbe>(std::move(out)) : probe_refused(disk.disk, ENOMEM);
}

}  // namespace

Result<LoadedProbe> load_probe(const WantedProbe& wanted) {
  Result<LoadedProbe> all = load(wanted, false);
  if (all || ::geteuid() != 0) {
    return all;
  }
  const std::string reason = all.error().message();
  Result<LoadedProbe> some = load(wanted, true);
  if (some) {
    some->warnings.push_back("merges, requeues and the depth in the scheduler are not counted: " +
                             reason);
  }
  return some;
}

}  // namespace blksweep
