#include "cli/replay/replay_conditions.h"

#include "cli/replay/replay_key.h"
#include "experiment/describe_host.h"

namespace blksweep {

Result<ReplayConditions> ReplayConditions::now(const std::string& trace,
                                               const ReplaySettings& settings,
                                               const std::atomic<bool>& stop) {
  ReplayConditions c;
  c.trace_ = trace;
  c.settings_ = settings;
  c.source_.device = device_of(settings);
  c.host_ = describe_host(c.source_);
  c.watch_ = DiskWatch::begin(c.source_.device ? c.source_.device->disk : "");
  BLKSWEEP_TRY(c.files_, files_key(trace, settings, stop));
  return c;
}

Result<std::string> ReplayConditions::changed() {
  const std::atomic<bool> never{false};
  std::string conditions = changed_conditions(host_, source_);
  if (conditions.empty()) {
    conditions = watch_.changed();
  }
  BLKSWEEP_TRY(const std::string files, files_key(trace_, settings_, never));
  return files == files_ ? conditions
                         : conditions + (conditions.empty() ? "" : "; ") +
                               "files of the trace were changed or replaced";
}

}  // namespace blksweep
