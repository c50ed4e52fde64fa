// Binding of threads to CPUs and memory nodes, and the I/O priority of a thread.
//
// Text:    "near" (the NUMA node of the device; all CPUs when it is on none), "all", "node:0",
//          "cpu:2", "cpu:0-3+6" for every thread, or by role:
//          "reader=near/copy=node:0/consumer=cpu:1". Roles: reader, openers, copy, consumer. No
//          commas: those separate cells.
// Method:  hwloc (topology, cpusets, memory binding of what a thread allocates afterwards);
//          ioprio_set(2).
// Errors:  an unknown role, CPU or node lists those there are; a CPU outside the process's own
//          cpuset is refused.
// Threads: bind() and set_io_priority() act on the calling thread; new threads inherit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace blksweep {

enum class Role { reader, openers, copy, consumer };

class Binding {
 public:
  // Checked against this node; `disk` ("nvme0n1") decides what is near. "" is no binding.
  static Result<Binding> parse(std::string_view text, const std::string& disk);
  Binding();
  Binding(Binding&&) noexcept;
  Binding& operator=(Binding&&) noexcept;
  ~Binding();

  bool empty() const;
  // Binds the calling thread; what it may run on then ("0-3"), as the kernel reads back.
  Result<std::string> bind(Role role) const;

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

struct IoPriority {
  enum class Class { none, realtime, best_effort, idle } priority_class = Class::none;
  int level = 4;  // 0 (first) to 7, of realtime and best_effort
};
// "none", "rt:0" .. "rt:7", "be:0" .. "be:7", "idle".
Result<IoPriority> parse_io_priority(std::string_view text);
std::string to_string(const IoPriority& priority);
// Of the calling thread; what ioprio_get(2) reads back.
Result<IoPriority> set_io_priority(const IoPriority& priority);

}  // namespace blksweep
