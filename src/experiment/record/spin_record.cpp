#include "experiment/record/spin_record.h"

namespace blksweep {

void record_spin(RunRecord& run, const Maybe<SpinTime>& before, const Maybe<SpinTime>& after) {
  if (!run.noise || !before || !after) {
    return;
  }
  run.noise->spin_before_wall_ns = before->wall_ns;
  run.noise->spin_before_cpu_ns = before->cpu_ns;
  run.noise->spin_after_wall_ns = after->wall_ns;
  run.noise->spin_after_cpu_ns = after->cpu_ns;
}

}  // namespace blksweep
