// Linked in place of probe_trial_bpf.cpp with BPF=0.
#include "probe/probe_programs.h"
#include "probe/probe_trial.h"

namespace blksweep {

Result<std::vector<ProgramTrial>> try_probe_programs() { return unsupported(kWithoutBpf); }

}  // namespace blksweep
