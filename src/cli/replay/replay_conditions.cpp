#include "cli/replay/replay_conditions.h"

#include "cli/replay/replay_key.h"
#include "experiment/describe_host.h"

namespace blksweep {

ReplayConditions ReplayConditions::now(const std::vector<std::string>& names,
                                       const ReplaySettings& settings) {
  ReplayConditions c;
  c.names_ = names;
  c.settings_ = settings;
  c.source_.device = device_of(settings);
  c.host_ = describe_host(c.source_);
  c.watch_ = DiskWatch::begin(c.source_.device ? c.source_.device->disk : "");
  c.files_ = files_key(names, settings);
  return c;
}

std::string ReplayConditions::changed() {
  std::string conditions = changed_conditions(host_, source_);
  if (conditions.empty()) {
    conditions = watch_.changed();
  }
  return files_key(names_, settings_) == files_ ? conditions
                                                : conditions + (conditions.empty() ? "" : "; ") +
                                                      "files of the trace were changed or replaced";
}

}  // namespace blksweep
