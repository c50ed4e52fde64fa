#include "support/synthetic_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace blksweep::support {
namespace {

constexpr std::uint64_t kDeviceStart = 1 << 20;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return (x ^ (x >> 31)) | 1;  // never 0: that is what holes hold
}

// With pointers: the sanitizers look at every step of anything else.
void fill_words(std::uint64_t first, std::uint64_t salt, std::span<std::uint64_t> out) {
  for (std::uint64_t *to = out.data(), *end = to + out.size(); to != end; ++to, ++first) {
    *to = mix(first ^ salt);
  }
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

void SyntheticCatalog::file_words(std::uint32_t file, std::uint64_t offset,
                                  std::span<std::uint64_t> out) const {
  std::ranges::fill(out, 0);
  for (const ExtentRecord& e : view().extents_of(file)) {
    const std::uint64_t from = std::max(offset, e.file_offset);
    const std::uint64_t to = std::min(offset + out.size(), e.file_end());
    if (from >= to || (e.flags & kExtentUnwritten) != 0) {
      continue;
    }
    const std::span<std::uint64_t> part = out.subspan(from - offset, to - from);
    if (e.on_device()) {
      device_words(e.device_offset + (from - e.file_offset), part);
    } else {
      fill_words((std::uint64_t{file} << 40) + from, 0, part);
    }
  }
}

void SyntheticCatalog::device_words(std::uint64_t address, std::span<std::uint64_t> out) {
  fill_words(address, 0x6465766963650000ULL, out);
}

}  // namespace blksweep::support
