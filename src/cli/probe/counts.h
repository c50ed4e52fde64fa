// What the probe counted, as texts, lines and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "probe/block_probe.h"

namespace blksweep {

// "-": not known.
std::string latency_text(const ProbeReport& r, double share);
std::string optional_text(std::optional<double> value);
double share_of(std::uint64_t part, std::uint64_t whole);  // 0 of nothing

// One line an interval, as columns under a heading.
std::string interval_heading();
std::string interval_line(double at_s, double length_s, const ProbeReport& r);

Json counts_json(const ProbeReport& r);
Json summary_json(const ProbeReport& r, std::int64_t length_ns);
// What is not among the counts: the histograms, the losses.
void add_details(Json& json, const ProbeReport& r);
std::string summary_text(const std::string& disk, const ProbeReport& r, std::int64_t length_ns);

}  // namespace blksweep
