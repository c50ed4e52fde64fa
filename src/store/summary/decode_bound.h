// Whether a loop of a peer is decode-bound, in words (docs/peers.md).
//
// Units:   run.decode_wait: the share of the epoch in which the consumer waited for busy decoders.
// Threads: pure.
#pragma once

#include <fmt/format.h>

#include <string>

namespace blksweep {

// From here on nothing else can be the greater part: storage without any delay would make the loop
// at most twice as fast.
inline constexpr double kDecodeBound = 0.5;

inline bool is_decode_bound(double wait) { return wait >= kDecodeBound; }

inline std::string decode_bound_text(double wait) {
  return fmt::format("{:.0f} %, {}decode-bound", wait * 100, is_decode_bound(wait) ? "" : "not ");
}

}  // namespace blksweep
