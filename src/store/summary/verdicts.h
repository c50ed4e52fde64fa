// What comparisons show, as words: of cells with their baseline, and of cells with their fio twins.
//
// Family:  the cells of one disk that are compared with its baseline are one, those with a fio twin
//          another: the chance of one wrong word in a family is 5 % (stats/paired.h).
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "store/summary/summary.h"

namespace blksweep {

// Of the intervals of a disk's cells, whose rounds may have gone on until they were narrow.
double error_rate_of(const SummaryInput& input, const std::string& disk);

// Fills verdict and twins.verdict of all cells.
void add_verdicts(std::vector<CellSummary>& cells, const SummaryInput& input);

// Three digits that matter, never an exponent: 12345, 123, 12.3, 1.23.
std::string digits(double x);
std::string range_text(double low, double high);  // "0.97..1.07"
// "1.02 [0.97..1.07]"; without an interval "1.02".
std::string ratio_text(const PairedRatio& ratio);

// "faster", "slower", "not shown"; "" of too few pairs.
std::string_view finding_word(Finding finding);
// "faster, within the margin", "not shown (needs 12 %)", "not shown; equal"; "" of too few pairs.
std::string verdict_text(const PairedVerdict& verdict);

// Of how many words one may be wrong: "in it", "among 3 (Holm)".
std::string among_text(std::size_t words);

// "ours / fio: lba faster, random not shown (needs 12 %); t test, ...": a line, or nothing. Of many
// cells those that differ are named, and the rest is counted.
std::string fio_verdicts(const std::vector<CellSummary>& cells);

}  // namespace blksweep
