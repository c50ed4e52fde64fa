// The programs of block_probe.bpf.c, what a report lacks without each of them, and why there may be
// none at all.
#pragma once

#include <array>
#include <cstdint>

namespace blksweep {

inline constexpr const char* kWithoutBpf =
    "block probe: built without BPF (clang, bpftool or libbpf missing): make BPF=1";
inline constexpr const char* kNoBtf =
    "block probe: this kernel has no BTF (/sys/kernel/btf/vmlinux): boot one with "
    "CONFIG_DEBUG_INFO_BTF=y, as Debian's are";

enum class ProbeUse : std::uint8_t { always, layers, origins };  // of ProbeSettings

struct ProbeProgram {
  const char* program;     // in block_probe.bpf.c
  const char* tracepoint;  // exists where BTF has btf_trace_<tracepoint>
  const char* without;     // what is missing without it; nullptr: nothing works without it
  ProbeUse use = ProbeUse::always;
};

inline constexpr std::array kProbePrograms = {
    ProbeProgram{"on_issue", "block_rq_issue", nullptr},
    ProbeProgram{"on_complete", "block_rq_complete", nullptr},
    ProbeProgram{"on_requeue", "block_rq_requeue",
                 "requests that a full device hands back count twice"},
    ProbeProgram{"on_insert", "block_rq_insert",
                 "the depth in the scheduler is unknown and stays 0"},
    ProbeProgram{"on_request_merge", "block_rq_merge", "merges of two requests are not counted"},
    ProbeProgram{"on_backmerge", "block_bio_backmerge",
                 "merges at the end of a request are not counted"},
    ProbeProgram{"on_frontmerge", "block_bio_frontmerge",
                 "merges in front of a request are not counted"},
    ProbeProgram{"on_split", "block_split", "splits of long reads are not counted"},
    ProbeProgram{"on_queue", "block_bio_queue",
                 "in which order reads enter the block layer is not followed", ProbeUse::layers},
    ProbeProgram{"on_start", "block_io_start",
                 "who made a request is not known, nor what other programs read",
                 ProbeUse::origins},
    ProbeProgram{"on_punt", "io_uring_queue_async_work",
                 "reads that io_uring hands to a worker are not counted"},
};

}  // namespace blksweep
