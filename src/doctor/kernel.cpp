// What the kernel gives this process: reading, watching, the caches, limits.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include "base/fd.h"
#include "base/memory.h"
#include "doctor/checks.h"
#include "io/engine_trial.h"
#include "loader/file_slots.h"
#include "loader/settings.h"
#include "os/file/file.h"
#include "os/file/open_regular.h"
#include "os/hostfacts.h"
#include "os/memory/residency.h"
#include "probe/block_probe.h"
#include "probe/probe_trial.h"

namespace blksweep {
namespace {

constexpr const char* kBtf = "/sys/kernel/btf/vmlinux";
constexpr const char* kDropCaches = "/proc/sys/vm/drop_caches";
constexpr const char* kAsRoot = "run as root, or with CAP_BPF and CAP_PERFMON";
constexpr const char* kNoProbe = "a run has no queue depth, request sizes and merges (NULL)";

bool seccomp_filters() {
  return whole_text("/proc/self/status").find("Seccomp:\t2") != std::string::npos;
}

constexpr std::size_t kManyFiles = std::numeric_limits<std::uint32_t>::max();
constexpr Bytes kLittle{std::uint64_t{16} * kPageBytes};

// With memory for a window of `size` bytes, and as many slots as a run would have.
Result<UringTrial> ring_with(Bytes size) {
  BLKSWEEP_TRY(PageBuffer memory, PageBuffer::allocate(size));
  const auto slots = FileSlots::affordable(kManyFiles);
  return try_uring({.depth = LoaderSettings{}.depth,
                    .file_slots = slots ? slots->slots : 1,
                    .arena = memory.span().first(size.n)});
}

// As in a run, which holds its probe by then.
Result<FileSlotsSettings> beside_probe(const Subject& s, std::size_t files) {
  Result<std::unique_ptr<BlockProbe>> probe =
      s.source.device ? open_block_probe(s.source.device->whole_disk) : fail("no device");
  return FileSlots::affordable(files);
}

std::string how_to_get_a_ring(int err) {
  if (err == ENOMEM) {  // the ring itself counts against the limit, too
    return "raise RLIMIT_MEMLOCK (ulimit -l) or run as root";
  }
  const std::string disabled = first_line("/proc/sys/kernel/io_uring_disabled");
  if (disabled == "1" || disabled == "2") {
    return "sysctl kernel.io_uring_disabled=0 (it is " + disabled + ")";
  }
  if (seccomp_filters()) {
    return "allow io_uring_setup, _enter and _register in the container's seccomp profile";
  }
  return "a kernel with CONFIG_IO_URING (5.19 or newer)";
}

Check without_ring(const Error& why) {
  return {"io_uring", Health::missing, why.message(),
          "a run without --engine uses psync, which keeps 1 read in flight, and warns of it; one "
          "with --engine io_uring ends with exit 77",
          how_to_get_a_ring(why.sys_errno)};
}

Check ring_with_refusals(const UringTrial& t) {
  std::string refused = t.facts.refused;
  const auto add = [&refused](const std::string& what, const std::string& why) {
    refused += why.empty() ? "" : (refused.empty() ? "" : "; ") + what + ": " + why;
  };
  add("openat", t.open_refuses);
  return {"io_uring", Health::limited, fmt::format("{}; refused: {}", t.facts.features, refused),
          "more CPU time per read than this kernel need take; every run is stored with it",
          t.facts.refused.find("fixed_buffers") != std::string::npos
              ? "raise RLIMIT_MEMLOCK (ulimit -l) or run as root"
              : "Linux 6.1 or newer; no seccomp filter on io_uring"};
}

}  // namespace

Check check_kernel(const Subject&) { return ok("kernel", read_host_facts().kernel); }

Check check_btf(const Subject&) {
  const Fd fd(::open(kBtf, O_RDONLY | O_CLOEXEC));
  const off_t size = fd ? ::lseek(fd.get(), 0, SEEK_END) : 0;
  if (size > 0) {
    return ok("BTF",
              fmt::format("{} ({})", kBtf, format_bytes({static_cast<std::uint64_t>(size)})));
  }
  return {"BTF", Health::missing, fd ? std::string(kBtf) + " is empty" : std::string("no ") + kBtf,
          kNoProbe, "a kernel with CONFIG_DEBUG_INFO_BTF=y, as Debian's are"};
}

Check check_probe_programs(const Subject&) {
  const auto trials = try_probe_programs();
  const std::string name = "probe programs";
  if (!trials) {
    return {name, Health::missing, trials.error().message(), kNoProbe,
            "see BTF, or build with make BPF=1"};
  }
  std::string works;
  Check c{name, Health::ok, {}, {}, {}};
  for (const ProgramTrial& t : *trials) {
    if (t.refusal.empty()) {
      works += (works.empty() ? "" : " ") + t.tracepoint;
      continue;
    }
    c.found += fmt::format("{}{}: {}", c.found.empty() ? "" : "; ", t.tracepoint, t.refusal);
    const bool essential = t.without.empty();
    c.state = essential ? Health::missing : std::max(c.state, Health::limited);
    const std::string lack = essential ? kNoProbe : t.without;
    if (c.consequence.find(lack) == std::string::npos) {
      c.consequence += (c.consequence.empty() ? "" : "; ") + lack;
    }
  }
  if (works.empty()) {  // the same cause for all: once is enough
    c.found = "none loads: " + trials->front().refusal;
    c.consequence = kNoProbe;
  }
  c.found = c.state == Health::ok ? "load and attach: " + works : c.found;
  c.fix = c.state == Health::ok ? ""
          : ::geteuid() != 0    ? kAsRoot
                                : "a kernel with these tracepoints";
  return c;
}

Check check_probe(const Subject& s) {
  if (!s.source.device) {
    return {"probe", Health::missing, "this path has no block device to watch", kNoProbe,
            "a path on ext4, xfs or btrfs"};
  }
  const auto probe = open_block_probe(s.source.device->whole_disk);
  if (probe) {
    return ok("probe", "watches " + s.source.device->disk);
  }
  return {"probe", Health::missing, probe.error().message(), kNoProbe,
          ::geteuid() != 0 ? kAsRoot : "as it says; --no-probe leaves it out"};
}

Check check_uring(const Subject&) {
  const Result<UringTrial> t = ring_with(kLittle);
  if (!t) {
    return without_ring(t.error());
  }
  if (!t->reads_refuse.empty()) {
    return without_ring(Error{"a ring, but no reads: " + t->reads_refuse, 0, Exit::unsupported});
  }
  if (!t->facts.refused.empty() || !t->open_refuses.empty()) {
    return ring_with_refusals(*t);
  }
  return ok("io_uring", t->facts.features + " read_fixed readv openat");
}

Check check_psync(const Subject&) {
  Result<PageBuffer> memory = PageBuffer::allocate(kLittle);
  const Result<> read = memory ? try_reads(EngineKind::psync, {.depth = 1, .arena = memory->span()})
                               : Result<>(fail(memory.error().message()));
  if (read) {
    return ok("psync", "preadv works");
  }
  return {"psync", Health::missing, read.error().message(), "no run can read anything",
          "allow preadv in the seccomp profile"};
}

Check check_libaio(const Subject&) {
  const std::string why = engine_refusal(EngineKind::libaio, LoaderSettings{}.depth);
  return why.empty() ? ok("libaio", "io_setup, io_submit and io_getevents work")
                     : Check{"libaio", Health::missing, why, "--engine libaio ends with exit 77",
                             "a larger fs.aio-max-nr; io_setup allowed in the seccomp profile"};
}

Check check_descriptors(const Subject& s) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto with_probe = beside_probe(s, kManyFiles);
  const auto slots = with_probe ? with_probe : FileSlots::affordable(kManyFiles);
  if (slots && !with_probe) {
    return {
        "descriptors", Health::limited, with_probe.error().message(),
        "the probe's descriptors leave too few: a run ends with exit 1 unless it has --no-probe",
        "ulimit -n 1024"};
  }
  if (!slots) {
    return {"descriptors", Health::missing, slots.error().message(),
            "a run ends with exit 1 before its first read", "ulimit -n 1024"};
  }
  const std::string found =
      fmt::format("RLIMIT_NOFILE {}: {} slots for open files", limit.rlim_cur, slots->slots);
  if (slots->scarce(kManyFiles)) {
    return {"descriptors", Health::limited, found,
            "a run of more files than that is held back by opening them, and warns of it",
            "ulimit -n 1024"};
  }
  return ok("descriptors", found);
}

// Registered buffers count against the limit, except with CAP_IPC_LOCK: so a window is tried.
Check check_locked_memory(const Subject&) {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const Bytes window = LoaderSettings{}.window.bytes;
  const std::string found =
      "RLIMIT_MEMLOCK " +
      (limit.rlim_cur == RLIM_INFINITY ? "unlimited" : format_bytes({limit.rlim_cur}));
  const Result<UringTrial> t = ring_with(window);
  const bool enough =
      t ? t->facts.refused.find("fixed_buffers") == std::string::npos : limit.rlim_cur >= window.n;
  if (enough) {
    return ok("locked memory", fmt::format("{}; {} {}", found, format_bytes(window),
                                           t ? "registered" : "fit (no io_uring to try with)"));
  }
  return {"locked memory", Health::limited,
          fmt::format("{}: {} of buffers are refused", found, format_bytes(window)),
          "larger windows are read without registered buffers, and a run warns of it; cache pin "
          "--pages holds no more",
          "ulimit -l unlimited, or run as root"};
}

Check check_residency(const Subject& s) {
  const std::string file = s.file.empty() ? "/proc/self/exe" : s.file;
  const Fd fd(open_kind_at(AT_FDCWD, file.c_str(), 0, S_IFREG));
  if (fd && residency_of(fd.get(), ResidencyMethod::cachestat)) {
    return ok("residency", "cachestat");
  }
  const auto any = residency_of(fd.get());
  if (any) {
    return {"residency", Health::limited, "mincore only",
            "resident pages are right, but dirty and evicted ones stay unknown; 30 times slower",
            "Linux 6.5 or newer; allow cachestat (451) in the seccomp profile"};
  }
  return {"residency", Health::missing, any.error().message(),
          "whether a run began cold stays unknown (resident_before is NULL)",
          "run as root or as the owner of the files"};
}

Check check_drop_caches(const Subject&) {
  const Fd fd(::open(kDropCaches, O_WRONLY | O_CLOEXEC));
  if (fd) {
    return ok("drop caches", std::string(kDropCaches) + " can be written");
  }
  return {"drop caches", Health::limited,
          sys_error(errno, std::string("open ") + kDropCaches).value().message(),
          "--cache cold evicts file data only; inodes and dentries stay warm, a run warns of it",
          "run as root (in a container: a writable /proc/sys)"};
}

}  // namespace blksweep
