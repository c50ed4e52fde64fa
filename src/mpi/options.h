// The command line of blksweep-mpi, as values.
//
// Errors: usage, told with the option; only by the first rank, as far as mpirun or srun say which
//         one this is: one line and not one of each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "loader/loader.h"
#include "ranks/keep.h"

namespace blksweep {

// How an epoch is shared out.
enum class Split {
  sample,  // every so many of the one order; a batch is a rank's
  batch,   // the same, and a batch is of all ranks together
  shard,   // whole files
  copy,    // each reads all
};
std::string_view to_string(Split split);

// Where ranks wait for each other.
enum class RankBarrier { batch, epoch, none };
std::string_view to_string(RankBarrier barrier);

struct MpiOptions {
  LoaderOptions loader{.depth = 32, .prefetch = 4};
  Split split = Split::sample;
  RankBarrier barrier = RankBarrier::none;
  bool verify = false, json = false;
  RanksDatabase database = {};
  Nanos compute{0};  // slept for each batch, while its memory is in use
  Nanos patience{std::chrono::seconds(60)};
};

// Nothing: read. Else the program is done with that exit code.
std::optional<Exit> read_options(int argc, char** argv, MpiOptions& options);

// What rank `rank` opens of it. Errors: usage: a batch that cannot be divided.
Result<LoaderOptions> options_of_rank(const MpiOptions& options, std::uint32_t rank,
                                      std::uint32_t ranks);

// For the result.
Json settings_json(const MpiOptions& options);

}  // namespace blksweep
