// What the kernel knows of a BPF program's runs; zeros for one that is not loaded.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstdint>

namespace blksweep {

struct ProgramRuns {
  std::uint64_t missed = 0;  // because it was running on that CPU (an interrupt in between)
  std::uint64_t ns = 0;  // in it, while somebody has the kernel take the time (bpf_enable_stats)
};

inline ProgramRuns runs_of(const bpf_program* program) {
  bpf_prog_info info{};
  __u32 size = sizeof info;
  const int fd = bpf_program__fd(program);
  if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) != 0) {
    return {};
  }
  return {.missed = info.recursion_misses, .ns = info.run_time_ns};
}

// Of all programs of an object but one: events that it was not told of.
inline std::uint64_t missed_runs(const bpf_object* object, const bpf_program* but = nullptr) {
  std::uint64_t sum = 0;
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object, program)) != nullptr) {
    sum += program == but ? 0 : runs_of(program).missed;
  }
  return sum;
}

}  // namespace blksweep
