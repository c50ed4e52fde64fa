// Binding of threads to CPUs and memory nodes.
//
// Text:    "near" (the NUMA node of the device; all CPUs when it is on none), "near-gpu" (the same
//          of the GPU), "all", "node:0", "cpu:2", "cpu:0-3+6" for every thread, or by role:
//          "reader=near/copy=near-gpu/consumer=cpu:1". Roles: reader, openers, copy, consumer;
//          those that are not named stay on the CPUs of the thread that called parse(). No commas:
//          those separate cells.
// Method:  hwloc. With several memory nodes, what the thread allocates afterwards comes from the
//          nodes of its CPUs as long as they have room.
// Errors:  an unknown role, CPU or node lists those there are; a CPU outside the process's own
//          cpuset is refused.
// Threads: bind() acts on the calling thread; new threads inherit. A Binding may be used by several
//          threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "loader/thread_role.h"

namespace blksweep {

class Binding {
 public:
  // Checked against this node; `disk` ("nvme0n1") decides what is near, and the GPU of that index
  // what is near-gpu. "" is no binding.
  static Result<Binding> parse(std::string_view text, const std::string& disk,
                               std::uint32_t gpu = 0);
  Binding();
  Binding(Binding&&) noexcept;
  Binding& operator=(Binding&&) noexcept;
  ~Binding();

  bool empty() const;
  bool has_roles() const;  // "reader=...": not one place for all
  // Binds the calling thread; what it may run on then ("0-3"), as the kernel reads back; "" when
  // it is empty(), and then nothing is changed.
  Result<std::string> bind(Role role) const;
  // The same to the CPUs of all roles together: for a program whose threads are not ours to bind.
  Result<std::string> bind_all() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Puts a thread back to where it was: CPU affinity, memory policy, I/O priority.
class ThreadPlace {
 public:
  ThreadPlace();   // remembers those of the calling thread
  ~ThreadPlace();  // on the same thread
  ThreadPlace(const ThreadPlace&) = delete;
  ThreadPlace& operator=(const ThreadPlace&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace blksweep
