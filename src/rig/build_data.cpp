#include "rig/build_data.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "os/process/signals.h"

namespace blksweep {
namespace {

Result<std::string> make(MakeSettings settings, const std::string& folder, const std::string& label,
                         const BuildListener& listener) {
  settings.directory = folder;
  const auto progress = [&](std::uint64_t done, std::uint64_t bytes) {
    listener.progress(fmt::format("{}: {} of {} files, {}", label, format_count(done),
                                  format_count(settings.count), format_bytes({bytes})));
  };
  BLKSWEEP_TRY(const MakeReport r, make_dataset(settings, progress));
  return fmt::format("{} samples, {}, made in {}", format_count(r.files), format_bytes({r.bytes}),
                     format_duration(Nanos{r.time_ns}));
}

Result<std::string> pack(PackSettings settings, const std::string& label,
                         const BuildListener& listener) {
  settings.tool = listener.tool;
  const auto progress = [&](const PackProgress& p) {
    listener.progress(
        fmt::format("{}: {} of {} samples", label, format_count(p.done), format_count(p.total)));
  };
  BLKSWEEP_TRY(const PackReport r, pack_dataset(settings, progress, stop_requested()));
  for (const std::string& text : r.warnings) {
    warn(label + ": " + text);
  }
  return fmt::format("{} samples, {} of {}, packed in {}", format_count(r.samples),
                     format_bytes({r.stored_bytes}), format_bytes({r.source_bytes}),
                     format_duration(Nanos{r.time_ns}));
}

Result<std::string> build(const Site& site, const BuildPlace& place) {
  const std::string folder = place.paths.data_folder(site);
  if (const auto* settings = std::get_if<MakeSettings>(&site.data->what)) {
    return make(*settings, folder, site.label(), place.listener);
  }
  const auto& wanted = std::get<PackOf>(site.data->what);
  PackSettings settings = wanted.settings;
  const DataSetup* source = place.rig.data_set(wanted.source);
  const bool as_it_stands = std::holds_alternative<FolderData>(source->what);
  settings.source = place.paths.data_folder({as_it_stands ? nullptr : site.disk, source});
  settings.directory = folder;
  return pack(settings, site.label(), place.listener);
}

}  // namespace

Result<> build_data(const Site& site, const BuildPlace& place) {
  const Result<std::string> built = build(site, place);
  if (stop_requested()) {
    return fail("interrupted: what was being made is made anew next time", Exit::interrupted);
  }
  if (!built) {
    Error error = built.error();
    error.text = fmt::format("{}: {}", site.label(), error.text);
    return tl::unexpected(std::move(error));
  }
  note(fmt::format("{}: {}", site.label(), *built));
  return {};
}

Result<> remove_tree(const std::string& folder) {
  std::error_code ec;
  std::filesystem::remove_all(folder, ec);
  return ec ? Result<>(sys_error(ec.value(), "remove " + folder)) : Result<>();
}

}  // namespace blksweep
