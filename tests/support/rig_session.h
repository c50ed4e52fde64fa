// A session of an experiment with controls, made up: runs of seven cells, round after round, with
// noise.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/summary/summary.h"

namespace blksweep {

inline constexpr std::int64_t kRandom = 1, kLba = 2, kSame = 3, kRamRandom = 4, kRamLba = 5,
                              kReverse = 6, kNoOp = 7;

using RunChange = std::function<void(RunRecord&, std::int64_t cell)>;

// A sound session on a rotating emulated disk: 3 % of noise for each run.
SummaryInput rig_session(
    std::uint32_t rounds, std::uint64_t seed, const RunChange& change = [](auto&, auto) {});

StoredCell rig_cell(std::int64_t id, const std::string& order, const std::string& control);

// The first line of its report.
std::string first_rig_line(const SummaryInput& input);
// That it has this text.
void expect_rig_line(const SummaryInput& input, const std::string& text);

}  // namespace blksweep
