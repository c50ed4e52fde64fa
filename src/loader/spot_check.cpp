#include "loader/spot_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>
#include <optional>

#include "base/fd.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/worker_pool.h"
#include "dataset/data_files.h"

namespace blksweep {
namespace {

constexpr std::uint64_t kFewest = 64, kMost = 1024, kOneOf = 100;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 10;  // of a piece
constexpr std::uint64_t kStream = 0x5b07;
constexpr std::size_t kNamedPieces = 10;
constexpr std::size_t kAtOnce = 16;  // pieces that are read

struct FreeHash {
  void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
};

// One file open at a time.
class FileReader {
 public:
  static Result<FileReader> make(const Source& source) {
    const std::uint64_t align = std::max(source.direct_align, kPageBytes);
    BLKSWEEP_TRY(PageBuffer memory, PageBuffer::allocate({kMostBytes + 2 * align}));
    BLKSWEEP_TRY(DataFiles data, DataFiles::open_root(source.catalog));
    return FileReader(source, align, std::move(memory), std::move(data));
  }

  Result<std::uint64_t> hash(const HashedPiece& piece) {
    BLKSWEEP_CHECK(open(piece.file));
    XXH3_64bits_reset(state_.get());
    for (std::uint64_t done = 0; done < piece.length;) {
      const std::uint64_t length = std::min(piece.length - done, kMostBytes);
      BLKSWEEP_CHECK(add(piece.offset + done, length));
      done += length;
    }
    return XXH3_64bits_digest(state_.get());
  }

 private:
  FileReader(const Source& source, std::uint64_t align, PageBuffer memory, DataFiles data)
      : source_(source), align_(align), memory_(std::move(memory)), data_(std::move(data)) {}

  Result<> add(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t from = align_down(offset, align_);
    const std::size_t want = align_up(offset + length, align_) - from;
    const ssize_t n = ::pread(fd_.get(), memory_.span().data(), want, static_cast<off_t>(from));
    if (n < 0) {
      return sys_error(errno, "read");
    }
    if (static_cast<std::uint64_t>(n) < offset + length - from) {
      return fail("the file ends early");
    }
    XXH3_64bits_update(state_.get(), memory_.span().data() + (offset - from), length);
    return {};
  }

  Result<> open(std::uint32_t file) {
    if (fd_ && file_ == file) {
      return {};
    }
    file_ = file;
    const int direct = source_.direct_possible ? O_DIRECT : 0;
    const int fd = data_.open(file, direct, scratch_);
    fd_.reset(std::max(fd, -1));
    return fd >= 0 ? Result<>() : Result<>(sys_error(-fd, "open"));
  }

  const Source& source_;
  std::uint64_t align_;
  PageBuffer memory_;
  DataFiles data_;
  std::string scratch_;
  std::uint32_t file_ = 0;
  Fd fd_;
  std::unique_ptr<XXH3_state_t, FreeHash> state_{XXH3_createState()};
};

}  // namespace

SpotCheck::SpotCheck(const Catalog& catalog, const Plan& plan, const Schedule& schedule,
                     std::uint64_t seed)
    : catalog_(catalog), plan_(plan), schedule_(schedule) {
  draw(seed);
}

Sample SpotCheck::sample_of(const Piece& piece) const {
  return catalog_.sample(plan_.order[schedule_.emission[piece.emission]]);
}

// What is empty is not looked at.
void SpotCheck::draw(std::uint64_t seed) {
  Rng rng(seed, kStream);
  for (const std::uint32_t emission : draw_for_check(schedule_.emission.size(), rng)) {
    Piece piece{.emission = emission};
    const std::uint64_t bytes = sample_of(piece).length;
    piece.length = static_cast<std::uint32_t>(std::min(bytes, kMostBytes));
    piece.offset = bytes > kMostBytes ? rng.below(bytes - kMostBytes + 1) : 0;
    if (bytes > 0) {
      pieces_.push_back(piece);
    }
  }
}

void SpotCheck::hash_batch(std::uint32_t batch, std::span<const std::byte> arena,
                           std::span<const std::uint8_t> failed) {
  const std::uint32_t end = schedule_.batch_begin[batch + 1];
  for (; next_ < pieces_.size() && pieces_[next_].emission < end; ++next_) {
    Piece& piece = pieces_[next_];
    const std::uint32_t p = schedule_.emission[piece.emission];
    if (failed[p] == 0) {
      const std::byte* const sample = arena.data() + schedule_.place_of(plan_, piece.emission);
      piece.hash = XXH3_64bits(sample + piece.offset, piece.length);
      piece.delivered = true;
    }
  }
}

SpotResult SpotCheck::compare(const Source& source) const {
  std::vector<HashedPiece> pieces;
  for (const Piece& p : pieces_) {
    if (p.delivered) {
      const Sample s = sample_of(p);
      pieces.push_back({s.file, s.offset + p.offset, p.length, p.hash});
    }
  }
  return compare_pieces(source, std::move(pieces));
}

// All of them where there are few, and none twice.
std::vector<std::uint32_t> draw_for_check(std::uint64_t all, Rng& rng) {
  const std::uint64_t wanted = std::min(all, std::clamp(all / kOneOf, kFewest, kMost));
  std::vector<std::uint32_t> drawn(wanted);
  for (std::uint32_t i = 0; i < wanted; ++i) {
    const std::uint64_t begin = all * i / wanted;
    drawn[i] = static_cast<std::uint32_t>(begin + rng.below(all * (i + 1) / wanted - begin));
  }
  return drawn;
}

namespace {

using Hashes = std::vector<Result<std::uint64_t>>;  // of each piece

std::vector<std::uint32_t> by_address(const Source& source,
                                      const std::vector<HashedPiece>& pieces) {
  std::vector<std::uint32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    const HashedPiece& p = pieces[i];
    return source.catalog.address_of(p.file, p.offset, p.length);
  });
  return order;
}

Result<std::uint64_t> hash_with(Result<FileReader>& reader, const HashedPiece& piece) {
  return reader ? reader->hash(piece) : tl::unexpected(reader.error());
}

// Several at once: a rotating disk seeks as little as it can.
Hashes hash_at_once(const Source& source, const std::vector<HashedPiece>& pieces,
                    const std::vector<std::uint32_t>& order) {
  WorkerPool pool(static_cast<unsigned>(std::min(kAtOnce, pieces.size())));
  std::vector<Result<FileReader>> readers;
  for (unsigned w = 0; w < pool.threads(); ++w) {
    readers.push_back(FileReader::make(source));
  }
  Hashes hashes(pieces.size());
  pool.run(order.size(), [&](unsigned worker, std::size_t item) {
    const std::uint32_t i = order[item];
    hashes[i] = hash_with(readers[worker], pieces[i]);
  });
  return hashes;
}

// What could not be read beside others is read alone: for many files at once descriptors or memory
// may not suffice, which says nothing of the piece.
Hashes hashes_of(const Source& source, const std::vector<HashedPiece>& pieces) {
  const std::vector<std::uint32_t> order = by_address(source, pieces);
  Hashes hashes = hash_at_once(source, pieces, order);
  std::optional<Result<FileReader>> alone;
  for (const std::uint32_t i : order) {
    if (hashes[i]) {
      continue;
    }
    if (!alone) {
      alone.emplace(FileReader::make(source));
    }
    hashes[i] = hash_with(*alone, pieces[i]);
  }
  return hashes;
}

}  // namespace

SpotResult compare_pieces(const Source& source, std::vector<HashedPiece> pieces) {
  std::ranges::sort(pieces, {}, [](const HashedPiece& p) { return std::pair(p.file, p.offset); });
  SpotResult result;
  const std::vector<Result<std::uint64_t>> hashes = hashes_of(source, pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const HashedPiece& p = pieces[i];
    const Result<std::uint64_t>& file = hashes[i];
    ++result.pieces;
    result.bytes += p.length;
    if (file && *file == p.hash) {
      continue;
    }
    if (++result.found.wrong <= kNamedPieces) {
      result.found.named.push_back(
          {source.catalog.full_path(p.file),
           file ? fmt::format("delivered {:016x}, the file has {:016x} in {} bytes from {}", p.hash,
                              *file, p.length, p.offset)
                : file.error().message()});
    }
  }
  return result;
}

}  // namespace blksweep
