#include "support/synthetic_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace blksweep::testing {
namespace {

constexpr std::uint64_t kDeviceStart = 1 << 20;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return (x ^ (x >> 31)) | 1;  // never 0: that is what holes hold
}

}  // namespace

SyntheticCatalog::SyntheticCatalog(const SyntheticSettings& settings)
    : settings_(settings), rng_(settings.seed, 0x73796E) {
  for (std::uint32_t f = 0; f < settings.files; ++f) {
    add_file(draw_size());
  }
  place_extents();
  std::vector<std::uint32_t> ranks(settings.files);
  std::iota(ranks.begin(), ranks.end(), 0U);
  shuffle(std::span(ranks), rng_);
  for (std::uint32_t f = 0; f < settings.files; ++f) {
    files_[f].directory_rank = ranks[f];
  }
  shuffle(std::span(ranks), rng_);
  for (std::uint32_t f = 0; f < settings.files; ++f) {
    files_[f].inode = 1000 + ranks[f];
  }
  for (std::uint32_t l = 0; l < settings.labels; ++l) {
    label_bytes_ += fmt::format("class{}", l);
    label_end_.push_back(static_cast<std::uint32_t>(label_bytes_.size()));
  }
}

std::uint64_t SyntheticCatalog::draw_size() {
  switch (rng_.below(16)) {
    case 0:
      return settings_.mean_bytes > 65536 ? settings_.mean_bytes : rng_.below(2);
    case 1:
      return align_down(settings_.mean_bytes, kPageBytes) + rng_.below(3) - 1;
    default:
      return rng_.below(2 * settings_.mean_bytes) + 1;
  }
}

std::uint32_t SyntheticCatalog::draw_flags() {
  constexpr std::array<std::uint32_t, 7> kFlags{kExtentUnwritten,
                                                kExtentInline | kExtentUnaligned,
                                                kExtentEncoded,
                                                kExtentShared,
                                                kExtentNoAddress,
                                                kExtentUnaligned,
                                                kExtentShared | kExtentUnwritten};
  return rng_.unit() < settings_.odd ? kFlags[rng_.below(kFlags.size())] : 0;
}

void SyntheticCatalog::add_file(std::uint64_t size) {
  const auto file = static_cast<std::uint32_t>(files_.size());
  files_.push_back({0, size, 0, 0, static_cast<std::uint32_t>(extents_.size()), 0});
  const std::uint64_t blocks = align_up(size, kPageBytes) / kPageBytes;
  std::uint64_t at = 0;
  while (at < blocks) {
    if (rng_.unit() < settings_.holes) {
      at = std::min(blocks, at + 1 + rng_.below(3));
    }
    const bool last = rng_.unit() * settings_.extents_per_file < 1;
    const std::uint64_t rest = blocks - at;
    const std::uint64_t take = last || rest < 2 ? rest : 1 + rng_.below(rest - 1);
    if (take > 0) {
      extents_.push_back({at * kPageBytes, 0, take * kPageBytes, draw_flags(), file});
    }
    at += std::max<std::uint64_t>(take, 1);
    if (last && settings_.holes > 0) {
      break;  // the rest, if any, is a trailing hole
    }
  }
  path_bytes_ += fmt::format("class{}/{:08}", file % settings_.labels, file);
  path_end_.push_back(static_cast<std::uint32_t>(path_bytes_.size()));
  if (settings_.parts_per_file == 0) {
    whole_.push_back({file, file % settings_.labels});
  } else {
    add_parts(file, size);
  }
}

void SyntheticCatalog::add_parts(std::uint32_t file, std::uint64_t size) {
  for (std::uint32_t i = 0; i < settings_.parts_per_file; ++i) {
    const std::uint64_t offset = i * settings_.part_stride;
    if (offset >= size) {
      return;
    }
    const std::uint64_t length = std::min(settings_.part_bytes, size - offset);
    parts_.push_back({offset, length, file, i % settings_.labels});
  }
}

// Extents lie on the device in random order, most of them touching the next; a shared one may lie
// where another one does.
void SyntheticCatalog::place_extents() {
  std::vector<std::uint32_t> sequence(extents_.size());
  std::iota(sequence.begin(), sequence.end(), 0U);
  shuffle(std::span(sequence), rng_);
  std::uint64_t at = kDeviceStart;
  std::uint64_t shared_at = 0;
  for (const std::uint32_t i : sequence) {
    ExtentRecord& e = extents_[i];
    const std::uint64_t skew = (e.flags & kExtentUnaligned) != 0 ? 100 : 0;
    if (e.flags == kExtentShared && shared_at != 0) {
      e.device_offset = shared_at;
      continue;
    }
    e.device_offset = at + skew;
    if (e.flags == 0) {
      shared_at = at;
    }
    at += align_up(e.length + skew, kPageBytes) + (rng_.below(4) == 0 ? kPageBytes : 0);
  }
}

Catalog SyntheticCatalog::view() const {
  Catalog c;
  c.files = files_;
  c.extents = extents_;
  c.whole = whole_;
  c.parts = parts_;
  c.path_end = path_end_;
  c.path_bytes = path_bytes_;
  c.label_end = label_end_;
  c.label_bytes = label_bytes_;
  c.root = "/synthetic";
  c.partition_start = kDeviceStart;
  c.device_readable = settings_.device_readable;
  return c;
}

std::uint64_t SyntheticCatalog::file_word(std::uint32_t file, std::uint64_t offset) const {
  const auto begin = extents_.begin() + files_[file].first_extent;
  const auto end =
      file + 1 < files_.size() ? extents_.begin() + files_[file + 1].first_extent : extents_.end();
  const auto e = std::upper_bound(begin, end, offset, [](std::uint64_t at, const ExtentRecord& x) {
    return at < x.file_end();
  });
  if (e == end || offset < e->file_offset || (e->flags & kExtentUnwritten) != 0) {
    return 0;
  }
  return e->on_device() ? device_word(e->device_offset + (offset - e->file_offset))
                        : mix((std::uint64_t{file} << 40) + offset);
}

std::uint64_t SyntheticCatalog::device_word(std::uint64_t address) {
  return mix(address ^ 0x6465766963650000ULL);
}

}  // namespace blksweep::testing
