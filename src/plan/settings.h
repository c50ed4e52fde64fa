// What an experimenter may choose before any read: order, merge and shuffle, as values.
//
// Strings become these enums in cli/, nothing below sees option text. to_string gives the word
// that the command line, the database and the figures use.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace blksweep {

enum class Order { random, path, directory, inode, lba, chunked, recorded, reverse, elevator };
enum class Merge { none, file, kernel, device };
enum class Shuffle { none, buffer, reservoir, full };

constexpr bool in_chunks(Order o) { return o == Order::chunked || o == Order::elevator; }

std::string_view to_string(Order o);
std::string_view to_string(Merge m);
std::string_view to_string(Shuffle s);

struct OrderSettings {
  Order order = Order::lba;
  std::uint64_t seed = 1;
  Bytes chunk{std::uint64_t{4} << 20};  // chunked, elevator: LBA-ordered pieces of this size
  Bytes sort_window{0};                 // > 0: sort each run of this many bytes of the order by LBA
  std::uint32_t epochs = 1;             // passes over the catalog, each with its own randomness
  std::uint32_t first_epoch = 0;        // whose randomness the first of them has
  Bytes lookahead{0};                   // elevator: chunks of so many bytes wait; one at least
};

struct MergeSettings {
  Merge merge = Merge::none;
  Bytes gap{std::uint64_t{64} << 10};  // device/file: bridge at most this many unwanted bytes
  Bytes max{std::uint64_t{1} << 20};   // no read is longer (rounded up to one block at least)
  std::uint32_t align = kPageBytes;    // offset and length granule of a read; 1 when buffered
  std::uint32_t batch = 32;            // kernel: reads sorted together and submitted together
  // device: consecutive bytes of the order within which pieces are sorted by address before
  // coalescing; 0 keeps the order strictly. It ends where the order itself goes back on the device:
  // at the end of a chunk, a sorted window, an epoch.
  Bytes horizon{0};
  // file/device: samples that have a block in common share one parcel of at most this many bytes,
  // so that no block is read twice. A shared parcel stays in memory until the last of its samples
  // has gone, so a caller with a buffer or reservoir shuffle sets it small; 0 never shares.
  Bytes share{std::uint64_t{1} << 20};
  // none: each sample is a read of its own across its extents and holes, and as long as it is, as a
  // program without a plan asks for it; `max` then means nothing.
  bool whole = false;
};

inline constexpr std::uint32_t kMostHold = 1000;  // of ShuffleSettings::hold

struct ShuffleSettings {
  Shuffle shuffle = Shuffle::none;
  Bytes window{std::uint64_t{64} << 20};  // means nothing without a shuffle
  Bytes drain{0};                         // buffer: leaves a full window before it is filled again
  // buffer: > 0: a sample leaves before hold * k later ones have arrived, where k of them were in
  // the window when it was full for the first time.
  std::uint32_t hold = 0;
  std::uint32_t batch = 256;   // samples per batch
  std::uint32_t prefetch = 2;  // batches that may be ready before they are consumed
  Bytes in_flight{0};  // room for reads beside the window: less where prefetch lets fewer ahead
  bool epochs_apart = false;  // an epoch is read once the one before is consumed
  // > 0: batches are read whole, each into one of so many equal slots in turn; then there is no
  // shuffle, and prefetch and in_flight mean nothing.
  std::uint32_t slots = 0;
  std::uint64_t seed = 1;
  std::uint32_t first_epoch = 0;  // whose randomness the first epoch of the plan has
  std::uint32_t rank = 0;         // whose window it is, where each rank has its own
};

// What is delivered of each epoch, by emission (plan/epoch_part.h).
struct EpochPart {
  std::uint32_t first = 0;  // emissions before it are through
  std::uint32_t rank = 0, ranks = 1;
  bool by_file = false;     // each rank has whole files, about as many bytes of them as the others
  bool own_window = false;  // each rank shuffles its part of the order of reading by itself
  bool whole() const { return first == 0 && ranks == 1; }
};

}  // namespace blksweep
