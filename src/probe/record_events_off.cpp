// Linked in place of record_events_bpf.cpp with BPF=0.
#include "probe/probe_programs.h"
#include "probe/record_events.h"

namespace blksweep {

// NOLINTBEGIN(performance-unnecessary-value-param): the other variant keeps what it gets.
Result<std::unique_ptr<Recorder>> open_block_recorder(dev_t, Bytes,
                                                      std::function<void(const BlockEvent&)>) {
  return unsupported(kWithoutBpf);
}

Result<std::unique_ptr<FileRecorder>> open_file_recorder(Bytes, FileListener) {
  return unsupported(kWithoutBpf);
}
// NOLINTEND(performance-unnecessary-value-param)

}  // namespace blksweep
