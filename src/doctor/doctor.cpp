#include "doctor/doctor.h"

#include <algorithm>
#include <array>

#include "doctor/checks.h"

namespace blksweep {
namespace {

struct Line {
  CheckFunction check;
  bool needed;  // the main job cannot run when it is missing
};
// In the order of a run's way: the data, their device, reading, watching, comparing.
constexpr std::array kLines{
    Line{check_kernel, false},
    Line{check_files, true},
    Line{check_filesystem, false},
    Line{check_addresses, false},
    Line{check_direct, false},
    Line{check_device, false},
    Line{check_layers, false},
    Line{check_scheduler, false},
    Line{check_device_reads, false},
    Line{check_psync, true},
    Line{check_libaio, false},
    Line{check_uring, false},
    Line{check_descriptors, true},
    Line{check_locked_memory, false},
    Line{check_memory, false},
    Line{check_btf, false},
    Line{check_probe_programs, false},
    Line{check_probe, false},
    Line{check_residency, false},
    Line{check_drop_caches, false},
    Line{check_cgroup_memory, false},
    Line{check_cgroup_io, false},
    Line{check_left_behind, false},
    Line{check_reclaim, false},
    Line{check_governor, false},
    Line{check_fio, false},
    Line{check_figures, false},
    Line{check_emulated, false},
    Line{check_gpu, false},
    Line{check_cuda, false},
};

}  // namespace

std::string_view to_string(Health h) {
  constexpr std::array<std::string_view, 3> kNames{"ok", "limited", "missing"};
  return kNames[static_cast<std::size_t>(h)];
}

Result<DoctorReport> examine_node(const DoctorSettings& settings) {
  BLKSWEEP_TRY(const Subject subject, look_at(settings));
  DoctorReport report;
  report.ready = true;
  for (const Line& line : kLines) {
    report.checks.push_back(line.check(subject));
    report.ready = report.ready && !(line.needed && report.checks.back().state == Health::missing);
  }
  return report;
}

}  // namespace blksweep
