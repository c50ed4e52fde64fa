// SpotCheck: a run that reads through the device proves itself on a sample of what it delivered.
//
// Which:   pieces of samples drawn by the seed: 1 % of them, at least 64 and at most 1024, each at
//          most 64 KiB of its sample.
// When:    hashed (XXH3-64) as their batch is consumed, out of the window, while the bytes are
//          there; compared with the files after the epoch and outside its time.
// Against: the file by name, with O_DIRECT where that works: through the filesystem's own mapping,
//          behind pages that were dirty, and without warming the page cache for the next run;
//          by address and 16 at once, for up to 1,024 seeks are seconds of a rotating disk.
// Threads: hash_batch() on the thread that consumes; compare() after it has ended, with threads of
//          its own while it lasts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "loader/source.h"
#include "loader/verify.h"
#include "plan/schedule.h"

namespace blksweep {

struct SpotResult {
  std::uint64_t pieces = 0, bytes = 0;  // compared
  Verification found;
};

// Which of `all` are looked at, ascending: one of each equal part.
std::vector<std::uint32_t> draw_for_check(std::uint64_t all, Rng& rng);

struct HashedPiece {
  std::uint32_t file = 0;
  std::uint64_t offset = 0, length = 0;  // in the file
  std::uint64_t hash = 0;                // XXH3-64 of what was delivered
};
// Against the files, as above.
SpotResult compare_pieces(const Source& source, std::vector<HashedPiece> pieces);

class SpotCheck {
 public:
  SpotCheck(const Catalog& catalog, const Plan& plan, const Schedule& schedule, std::uint64_t seed);
  // Its pieces lie in the arena now; `failed` is by position.
  void hash_batch(std::uint32_t batch, std::span<const std::byte> arena,
                  std::span<const std::uint8_t> failed);
  // Reads the pieces again.
  SpotResult compare(const Source& source) const;

 private:
  struct Piece {
    std::uint32_t emission = 0, length = 0;
    std::uint64_t offset = 0;  // in the sample
    std::uint64_t hash = 0;
    bool delivered = false;
  };
  Sample sample_of(const Piece& piece) const;
  void draw(std::uint64_t seed);

  const Catalog& catalog_;
  const Plan& plan_;
  const Schedule& schedule_;
  std::vector<Piece> pieces_;  // by emission
  std::size_t next_ = 0;
};

}  // namespace blksweep
