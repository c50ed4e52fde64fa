#include "cli/run/emission.h"

#include <fmt/format.h>

#include "base/log.h"
#include "loader/verify.h"

namespace blksweep {

Result<EmissionFiles> EmissionFiles::begin(const std::string& pattern, const EmissionCount& count,
                                           const KeptFiles& inputs) {
  if (!pattern.empty()) {
    BLKSWEEP_CHECK(check_emission_name(pattern, count));
    for (std::uint64_t cell = 1; cell <= count.cells; ++cell) {
      for (std::uint64_t repeat = 0; repeat < count.repeats; ++repeat) {
        const std::string path = emission_name(pattern, cell, repeat);
        BLKSWEEP_CHECK(check_kept("--emission", path, inputs));
        BLKSWEEP_CHECK(check_emission_place(path));
      }
    }
  }
  return EmissionFiles(pattern);
}

bool EmissionFiles::write(const std::string& path, const EmittedOrder& order) {
  const Result<> done = write_emission(path, order);
  if (!done) {
    warn("--emission: " + done.error().message());
    written_ = written_ ? done : written_;
    return false;
  }
  note(fmt::format("emission: {}: {} samples, hash {}", path, format_count(order.samples.size()),
                   emission_hash(order.samples)));
  return true;
}

void EmissionFiles::add_planned(std::uint64_t cell, const Catalog& catalog,
                                const PlannedEpoch& planned) {
  if (pattern_.empty()) {
    return;
  }
  const PlannedEmission all = planned_emission(planned);
  write(emission_name(pattern_, cell, 0),
        {catalog, all.samples, all.batch_samples, all.batches_per_epoch});
}

void EmissionFiles::add_run(const RunEvent& event, const ExperimentCell* first,
                            const Catalog& catalog) {
  if (pattern_.empty() || event.cell.settings.control != Control::none) {
    return;
  }
  const CellSettings& cell = event.cell.settings;
  Catalog part = catalog;
  part.share = cell.read_share;
  std::vector<std::uint32_t> batches;
  for (const BatchRecord& b : event.run.batches) {
    batches.push_back(b.samples);
  }
  const std::uint64_t one = std::max<std::uint64_t>(1, part.samples());
  const std::uint64_t batches_of_one = (one + cell.batch - 1) / cell.batch;
  const auto number = static_cast<std::uint64_t>(&event.cell - first) + 1;
  const std::string path = emission_name(pattern_, number, event.run.repeat);
  if (write(path, {part, event.emitted, batches, batches_of_one, cell.peer.empty() ? 0 : one}) &&
      event.run.missing_samples > 0) {
    warn(fmt::format("{}: {} samples did not come, and are not in it", path,
                     format_count(event.run.missing_samples)));
  }
}

}  // namespace blksweep
