#include "support/rig_session.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "store/summary/rig_verdict.h"

namespace blksweep {
namespace {

constexpr std::int64_t kCells[] = {kRandom, kLba, kSame, kRamRandom, kRamLba, kReverse, kNoOp};

double usual_epoch_ms(std::int64_t id) {
  switch (id) {
    case kLba:
    case kReverse:
      return 200;
    case kRamRandom:
    case kRamLba:
      return 20;
    case kNoOp:
      return 1;
    default:
      return 1000;
  }
}

}  // namespace

StoredCell rig_cell(std::int64_t id, const std::string& order, const std::string& control) {
  StoredCell c{id, {{{"order", order}, {"merge", "none"}, {"cache", "cold"}}}};
  if (!control.empty()) {
    c.cell.settings.emplace_back("control", control);
  }
  return c;
}

SummaryInput rig_session(std::uint32_t rounds, std::uint64_t seed, const RunChange& change) {
  SummaryInput input;
  input.cells = {rig_cell(kRandom, "random", ""),   rig_cell(kLba, "lba", ""),
                 rig_cell(kSame, "random", "a/a"),  rig_cell(kRamRandom, "random", "ram"),
                 rig_cell(kRamLba, "lba", "ram"),   rig_cell(kReverse, "reverse", "reverse"),
                 rig_cell(kNoOp, "random", "no-op")};
  HostRecord& host = input.hosts[""];
  host.rotational = true;
  host.layers = {{"loop0", "kind", "loop"}, {"loop0", "emulation", "emulated hdd-7200 x1 00"}};
  Rng rng(seed);
  for (std::uint32_t r = 0; r < rounds; ++r) {
    for (const std::int64_t id : kCells) {
      StoredRun stored;
      stored.id = r * 10 + id;
      stored.cell_id = id;
      RunRecord& run = stored.run;
      run.session_id = 1;
      run.repeat = r;
      run.samples = 1000;
      run.bytes = run.own_read_bytes.emplace(32 << 20);
      run.read_bytes = run.device_bytes.emplace(33 << 20);
      run.device_reads = 1000;
      run.others_read_bytes = 0;
      run.resident_before = 0;
      run.cpu_ns = 5'000'000;
      run.epoch_ns = std::llround(usual_epoch_ms(id) * 1e6 * std::exp(0.03 * rng.normal()));
      run.probe.emplace();
      run.probe->in_plan = 0.97;
      run.probe->plan_order = 0.99;
      run.noise.emplace();
      run.noise->steal_ns = run.noise->throttled_ns = 0;
      run.noise->cpu_pressure_ns = run.epoch_ns / 20;
      run.noise->spin_before_wall_ns = run.noise->spin_after_wall_ns = 6'100'000;
      run.noise->spin_before_cpu_ns = run.noise->spin_after_cpu_ns = 6'000'000;
      change(run, id);
      input.runs.push_back(std::move(stored));
    }
  }
  return input;
}

std::string first_rig_line(const SummaryInput& input) { return rig_line(judge_rig(input)); }

void expect_rig_line(const SummaryInput& input, const std::string& text) {
  EXPECT_NE(first_rig_line(input).find(text), std::string::npos) << first_rig_line(input);
}

}  // namespace blksweep
