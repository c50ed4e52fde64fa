#include "cli/run/controls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "disk/registry.h"

namespace blksweep {
namespace {

const CellSettings* baseline_of(const std::vector<CellSettings>& cells) {
  const auto ours = [](const CellSettings& c) { return c.peer.empty(); };
  auto found = std::ranges::find_if(cells, [&](const CellSettings& c) {
    return ours(c) && c.order == Order::random && c.merge == Merge::none;
  });
  found = found == cells.end() ? std::ranges::find_if(cells, ours) : found;
  return found == cells.end() ? nullptr : &*found;
}

CellSettings control(const CellSettings& baseline, Control role) {
  CellSettings c = baseline;
  c.control = role;
  c.order_named = c.engine_named = c.window_named = true;
  return c;
}

// What it reads is in memory whatever the caches hold, and nothing of this node's is set for it.
CellSettings ram_control(const CellSettings& baseline, Order order) {
  CellSettings c = control(baseline, Control::ram);
  c.order = order;
  c.sort_window = {};
  c.merge = Merge::none;
  c.merge_asked.reset();
  c.order_asked.reset();
  c.addresses_refused = false;
  c.shuffle = Shuffle::none;
  c.consumer = ConsumerKind::none;
  c.direct = true;
  c.cache = CacheState::keep;
  c.node = {};
  return c;
}

CellSettings reverse_control(const CellSettings& baseline) {
  CellSettings c = control(baseline, Control::reverse);
  c.order = Order::reverse;
  c.sort_window = {};
  return c;
}

// The stages behind the reader cost what they cost; nothing waits for a device or a consumer.
CellSettings no_op_control(const CellSettings& baseline) {
  CellSettings c = control(baseline, Control::no_op);
  c.engine = EngineKind::no_op;
  c.cache = CacheState::keep;
  c.consumer = ConsumerKind::none;
  c.node = {};
  return c;
}

}  // namespace

void add_controls(std::vector<CellSettings>& cells) {
  std::erase_if(cells, [](const CellSettings& c) { return c.control != Control::none; });
  const CellSettings* found = baseline_of(cells);
  if (found == nullptr) {
    return;
  }
  const CellSettings baseline = *found;
  cells.push_back(control(baseline, Control::same));
  cells.push_back(ram_control(baseline, Order::random));
  cells.push_back(ram_control(baseline, Order::lba));
  if (baseline.workers == 0) {
    cells.push_back(reverse_control(baseline));
    const bool unpacks = baseline.decode_threads > 0 && baseline.decode_cpu.count() == 0;
    if (!unpacks && !needs_gpu(baseline)) {
      cells.push_back(no_op_control(baseline));
    }
  }
}

void ControlRig::leave_out(std::vector<CellSettings>& cells, Control role, const std::string& why) {
  const auto left = std::erase_if(cells, [&](const CellSettings& c) { return c.control == role; });
  if (left > 0) {
    warn(fmt::format("control {} is left out: {}", to_string(role), why));
  }
}

ControlRig ControlRig::set_up(const Source& source, std::vector<CellSettings>& cells,
                              std::uint64_t seed) {
  ControlRig rig;
  if (std::ranges::none_of(cells, [](auto& c) { return c.control != Control::none; })) {
    warn("controls are those of a cell of ours, and there is none: the rig is not judged");
  }
  if (const std::string why = address_refusal(source.catalog); !why.empty()) {
    rig.leave_out(cells, Control::reverse, why);
  }
  if (std::ranges::none_of(cells, [](auto& c) { return c.control == Control::ram; })) {
    return rig;
  }
  Result<RamCopy> copy = RamCopy::make(source.catalog, seed);
  Result<Source> ram = copy ? open_source({copy->folder(), "", false})
                            : Result<Source>(tl::unexpected(copy.error()));
  if (!ram) {
    rig.leave_out(cells, Control::ram, ram.error().message());
    return rig;
  }
  rig.copy_.emplace(*std::move(copy));
  rig.ram_ = *std::move(ram);
  return rig;
}

// The model of an emulated disk bounds what its baseline can be.
void ControlRig::take_part(ExperimentSettings& settings, const Source& source) const {
  settings.controls = true;
  settings.ram = ram_;
  const auto emulated = source.device ? emulated_disk(source.device->disk) : std::nullopt;
  if (!settings.predict && emulated) {
    settings.predict = predict_settings(source, emulated->spec);
    settings.predict_all = false;
  }
}

Result<> ControlRig::down() {
  ram_.reset();
  return copy_ ? copy_->down() : Result<>();
}

}  // namespace blksweep
