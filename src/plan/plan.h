// Plan: the exact reads of a run, in submission order, decided before any I/O.
//
// Words:     a *position* is an index into the read order (epoch 2 goes on counting), order[p] its
//            sample. A *parcel* is a run of memory that receives whole aligned blocks and holds one
//            sample, or several that share blocks. A *piece* says which bytes of a read land where.
// Units:     bytes. Read.offset counts in the file, or on the filesystem's block device when
//            source is kFromDevice (then it is a multiple of the alignment).
// Property:  the pieces of a plan cover every byte of every position exactly once per epoch, and no
//            read is longer than merge.max (tests/unit/plan_test.cpp).
// Memory:    20 bytes per read, 16 per piece, 12 per position.
// Source:    merging as measured in docs/kernel-notes.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/catalog.h"
#include "plan/settings.h"

namespace blksweep {

inline constexpr std::uint32_t kFromDevice = 0xFFFFFFFF;  // Read.source: the block device
inline constexpr std::uint32_t kZeros = 0xFFFFFFFE;       // Read.source: a hole; fill, do not read

struct Read {
  std::uint64_t offset;
  std::uint32_t length;  // aligned; may run past the end of the file
  std::uint32_t source;  // file index, kFromDevice or kZeros
};
static_assert(sizeof(Read) == 16);

// Bytes [read_offset, read_offset + length) of the read land at parcel_offset of the parcel. All
// four are multiples of MergeSettings::align. Bytes between pieces are a bridged gap.
struct Piece {
  std::uint32_t parcel;
  std::uint32_t parcel_offset;
  std::uint32_t read_offset;
  std::uint32_t length;
};
static_assert(sizeof(Piece) == 16);

struct Plan {
  std::vector<std::uint32_t> order;         // position -> sample
  std::vector<Read> reads;                  // submission order
  std::vector<Piece> pieces;                // ordered by read, then read_offset
  std::vector<std::uint32_t> first_piece;   // reads.size() + 1 entries
  std::vector<std::uint32_t> parcel_bytes;  // per parcel, a multiple of the alignment
  std::vector<std::uint32_t> head;          // position -> offset of the sample in its parcel
  std::vector<std::uint32_t> parcel;  // position -> parcel; empty: parcel p belongs to p alone
  std::uint32_t epochs = 1;
  std::uint32_t submit_batch = 0;      // > 0: submit groups of this many reads at once
  std::uint64_t sample_bytes = 0;      // of all positions
  std::uint64_t device_fallbacks = 0;  // samples that merge=device had to read through files
  std::uint64_t horizon_peak = 0;      // most bytes that were sorted together by address
  std::uint64_t horizon_most = 0;      // what that may be of any epoch in any order: a bound

  // Positions of each epoch. One epoch, as most plans have, costs no division.
  std::uint32_t of_epoch() const {
    return static_cast<std::uint32_t>(epochs == 1 ? order.size() : order.size() / epochs);
  }
  std::uint32_t parcel_of(std::uint32_t position) const {
    return parcel.empty() ? position : parcel[position];
  }
};

// What a plan costs before it is run.
struct PlanSummary {
  std::uint64_t reads = 0;  // without kZeros
  std::uint64_t read_bytes = 0;
  std::uint64_t sample_bytes = 0;
  std::uint64_t gap_bytes = 0;  // read but wanted by nobody (bridged gaps and rounding)
  // Reads that do not begin where the one before ended; nullopt: some address is not known.
  std::optional<std::uint64_t> seeks;
  // Mean |distance| over seeks whose addresses are known; nullopt: those of none are.
  std::optional<double> mean_seek_bytes;
};

// position -> sample, epochs * catalog.samples() entries; a permutation in each epoch.
std::vector<std::uint32_t> make_order(const Catalog& catalog, const OrderSettings& settings);

// Of one epoch, in whatever order.
struct PlanNeeds {
  std::uint64_t segments = 0;      // reads before they are coalesced
  std::uint64_t horizon_most = 0;  // as Plan's
};
inline constexpr std::uint64_t kSegmentBytes = 36;  // of a plan

// nullopt: more than `most` segments, found out without counting the rest. A catalog's sizes say
// anything: ask before make_plan() takes the memory.
std::optional<PlanNeeds> plan_needs(const Catalog& catalog, const MergeSettings& settings,
                                    std::uint64_t most);

// `needs`: what plan_needs() said.
Plan make_plan(const Catalog& catalog, std::vector<std::uint32_t> order, std::uint32_t epochs,
               const MergeSettings& settings, const PlanNeeds& needs);
Plan make_plan(const Catalog& catalog, std::vector<std::uint32_t> order, std::uint32_t epochs,
               const MergeSettings& settings);

// `unit`: what is read at least, a page where reads go through the page cache: it counts for where
// a read ends.
PlanSummary summarize(const Catalog& catalog, const Plan& plan, std::uint32_t unit = 1);

// Where a read of the device or of a file begins, from the start of the filesystem's device; ~0
// when no extent says so.
std::uint64_t address_of(const Catalog& catalog, const Read& read);

// Whether any read is of the block device itself.
bool reads_device(const Plan& plan);
// Whether any read goes through a file: a plan of device reads and holes opens none.
bool opens_files(const Plan& plan);

}  // namespace blksweep
