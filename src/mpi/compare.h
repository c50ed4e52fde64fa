// Compares what was delivered with files, after the epochs: a rank's own with its files, and what
// came of a copy of the data with rank 0's.
//
// Copies:    names and sizes of a copy are those of rank 0 (mpi/shared_data.h); that its bytes
//            are, is known only when rank 0 has read the same samples again.
// Errors:    a sample that differs, or cannot be read again, is counted; the first one is named.
// Threads:   those of Comm.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "mpi/comm.h"
#include "plan/catalog.h"

namespace blksweep {

struct Compared {
  std::uint64_t wrong = 0;
  std::string text;  // "3 samples are not as in ..., such as PATH: why"; empty: none is wrong
};

// place << 32 | sample, and beside it the hash of each.
struct DeliveredBytes {
  std::span<const std::uint64_t> delivered;
  std::span<const std::uint64_t> hashes;
};

// `whose` files: "their files". `got_on` is called now and then.
Compared compare_with_files(const Catalog& catalog, const DeliveredBytes& bytes,
                            const std::string& whose, const std::function<void()>& got_on);

// At rank 0, by rank: those of ranks that say they are to be compared; elsewhere nothing.
std::vector<Compared> compare_with_first(const Comm& comm, const Catalog& catalog,
                                         const DeliveredBytes& mine,
                                         const std::function<void()>& got_on);

}  // namespace blksweep
