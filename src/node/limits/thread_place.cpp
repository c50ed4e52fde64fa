#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "node/limits/binding.h"
#include "os/block/io_priority.h"

namespace blksweep {
namespace {

// More than any kernel is built for: a mask that is too short is refused.
constexpr std::size_t kMaskCpus = 8192;
constexpr std::size_t kMostNodes = 4096;
constexpr std::size_t kLongBits = sizeof(unsigned long) * 8;

}  // namespace

// System calls and not hwloc: this must bring back exactly what was, whatever the topology says.
struct ThreadPlace::State {
  std::array<cpu_set_t, kMaskCpus / CPU_SETSIZE> cpus{};
  std::array<unsigned long, kMostNodes / kLongBits> nodes{};
  int memory_mode = 0;
  long cpu_bytes = 0, io_priority = 0;
  bool has_memory_mode = false;
};

ThreadPlace::ThreadPlace() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.cpu_bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof s.cpus, s.cpus.data());
  s.has_memory_mode = ::syscall(SYS_get_mempolicy, &s.memory_mode, s.nodes.data(), kMostNodes,
                                nullptr, 0) == 0;  // ENOSYS without NUMA
  s.io_priority = raw_io_priority();
}

ThreadPlace::~ThreadPlace() {
  const State& s = *state_;
  if (s.cpu_bytes > 0) {
    ::syscall(SYS_sched_setaffinity, 0, s.cpu_bytes, s.cpus.data());
  }
  if (s.has_memory_mode) {
    ::syscall(SYS_set_mempolicy, s.memory_mode, s.nodes.data(), kMostNodes);
  }
  if (s.io_priority >= 0) {
    set_raw_io_priority(s.io_priority);
  }
}

}  // namespace blksweep
