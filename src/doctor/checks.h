// The checks of doctor, one function each; doctor.cpp puts them into their order.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "doctor/subject.h"

namespace blksweep {

using CheckFunction = Check (*)(const Subject&);

inline Check ok(std::string name, std::string found) {
  return {std::move(name), Health::ok, std::move(found), {}, {}};
}

// doctor_kernel.cpp
Check check_kernel(const Subject&);
Check check_btf(const Subject&);
Check check_probe_programs(const Subject&);
Check check_probe(const Subject&);
Check check_uring(const Subject&);
Check check_psync(const Subject&);
Check check_libaio(const Subject&);
Check check_descriptors(const Subject&);
Check check_locked_memory(const Subject&);
Check check_residency(const Subject&);
Check check_drop_caches(const Subject&);

// doctor_path.cpp
Check check_files(const Subject&);
Check check_filesystem(const Subject&);
Check check_addresses(const Subject&);
Check check_direct(const Subject&);
Check check_device_reads(const Subject&);
Check check_device(const Subject&);
Check check_layers(const Subject&);
Check check_scheduler(const Subject&);

// doctor_node.cpp
Check check_cgroup_memory(const Subject&);
Check check_cgroup_io(const Subject&);
Check check_memory(const Subject&);
Check check_left_behind(const Subject&);
Check check_reclaim(const Subject&);
Check check_governor(const Subject&);
Check check_fio(const Subject&);
Check check_figures(const Subject&);
Check check_emulated(const Subject&);

// doctor_gpu.cpp
Check check_gpu(const Subject&);
Check check_cuda(const Subject&);

}  // namespace blksweep
