#include "doctor/doctor.h"

#include <algorithm>
#include <array>

#include "doctor/checks.h"

namespace blksweep {
namespace {

// In the order of a run's way: the data, their device, reading, watching, comparing.
constexpr auto kChecks = std::to_array<CheckFunction>({
    check_kernel,
    check_files,
    check_filesystem,
    check_addresses,
    check_direct,
    check_device,
    check_layers,
    check_scheduler,
    check_device_reads,
    check_psync,
    check_libaio,
    check_uring,
    check_descriptors,
    check_locked_memory,
    check_memory,
    check_btf,
    check_probe_programs,
    check_probe,
    check_residency,
    check_drop_caches,
    check_cgroup_memory,
    check_cgroup_io,
    check_left_behind,
    check_reclaim,
    check_governor,
    check_fio,
    check_figures,
    check_emulated,
    check_gpu,
    check_cuda,
});
// The main job cannot run when one of these is missing.
constexpr std::array<CheckFunction, 3> kNeeded{check_files, check_psync, check_descriptors};

bool stops_the_main_job(CheckFunction check, Health state) {
  return state == Health::missing && std::ranges::find(kNeeded, check) != kNeeded.end();
}

}  // namespace

std::string_view to_string(Health h) {
  constexpr std::array<std::string_view, 3> kNames{"ok", "limited", "missing"};
  return kNames[static_cast<std::size_t>(h)];
}

Result<DoctorReport> examine_node(const DoctorSettings& settings) {
  BLKSWEEP_TRY(const Subject subject, look_at(settings));
  DoctorReport report;
  report.ready = true;
  for (const CheckFunction check : kChecks) {
    report.checks.push_back(check(subject));
    report.ready = report.ready && !stops_the_main_job(check, report.checks.back().state);
  }
  return report;
}

}  // namespace blksweep
