// Shuffle quality: how far what was really emitted is from a full permutation, in numbers from
// 0 (not shuffled) to 1 (as good as a full permutation).
//
// Reference: the storage order of the data set, given as a rank per sample, not the order of
//            reading: a random read order without a shuffle window is well shuffled too.
// Formulas:  docs/measurement.md, "Shuffle quality".
// Unknown:   a measure that has no meaning (fewer than three samples, one label only) is nullopt.
// Cost:      linear in samples; 4 bytes per sample of the catalog and 4 per emission.
// Threads:   pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace blksweep {

struct EmittedEpoch {
  std::span<const std::uint32_t> samples{};      // as emitted, each at most once
  std::span<const std::uint32_t> batch_begin{};  // indices into samples; the end is included
  std::span<const std::uint32_t> rank{};         // sample -> storage rank; empty: the sample number
  std::span<const std::uint32_t> label{};        // sample -> label; empty: no label measure
  // Samples in the order of reading, all that may have been emitted; may be empty.
  std::span<const std::uint32_t> read_order{};
};

struct ShuffleQuality {
  std::optional<double> displacement;      // mean |emission index - storage rank|
  std::optional<double> spearman;          // 1 - |rank correlation with the storage order|
  std::optional<double> neighbours;        // neighbours of the storage order that were parted
  std::optional<double> label_mix;         // labels per batch against the hypergeometric mean
  std::optional<double> spearman_vs_read;  // 1 - |rank correlation with the read order|
};

ShuffleQuality shuffle_quality(const EmittedEpoch& epoch);

}  // namespace blksweep
