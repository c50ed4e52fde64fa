#include "dataset/catalog_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/fd.h"
#include "os/file/open_regular.h"
#include "os/file/output_place.h"

namespace blksweep {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is mapped as it stands");

constexpr std::array<char, 8> kMagic{'B', 'L', 'K', 'S', 'W', 'C', 'A', 'T'};
constexpr std::uint64_t kAlign = 8;
constexpr std::array kNames{"files",      "extents",   "whole",       "parts", "path_end",
                            "path_bytes", "label_end", "label_bytes", "root",  "device_node"};

struct Section {
  std::uint64_t offset, bytes, checksum;  // XXH3-64 of its bytes
};

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t file_bytes;
  std::uint64_t device;
  std::uint64_t partition_start;
  std::uint32_t block_bytes;
  std::uint32_t flags;  // kDeviceReadable, kLinksFollowed
  std::array<Section, kNames.size()> sections;
  std::uint64_t checksum;  // XXH3-64 of all bytes of the header before this field
};
static_assert(sizeof(Header) == 296 && std::is_trivially_copyable_v<Header>);
constexpr std::uint32_t kDeviceReadable = 1, kLinksFollowed = 2;

std::uint64_t header_checksum(const Header& h) {
  return XXH3_64bits(&h, offsetof(Header, checksum));
}

using Bytespan = std::span<const std::byte>;

Bytespan as_span(std::string_view text) { return std::as_bytes(std::span(text)); }

template <class T>
Bytespan as_span(const std::vector<T>& v) {
  return std::as_bytes(std::span(v));
}

tl::unexpected<Error> damaged(const std::string& name, const std::string& what) {
  return fail(fmt::format("{}: {}: scan again with blksweep catalog DIR -o {}", name, what, name));
}

bool has_magic(Bytespan bytes) {
  return bytes.size() >= kMagic.size() &&
         std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

// The parts of the header that decide whether the rest may be looked at, best explanation first.
Result<Header> read_header(Bytespan bytes, std::uint64_t file_bytes, const std::string& name) {
  Header h{};
  if (!has_magic(bytes)) {
    return fail(name + ": not a catalog: make one with blksweep catalog DIR -o FILE");
  }
  if (bytes.size() < sizeof(Header)) {
    return damaged(name, fmt::format("truncated to {} bytes", bytes.size()));
  }
  std::memcpy(&h, bytes.data(), sizeof h);
  const bool header_intact = h.checksum == header_checksum(h);
  // Another version may have another header, so its checksum says nothing here.
  if (h.version != kCatalogVersion && !(h.header_bytes == sizeof(Header) && !header_intact)) {
    return damaged(name, fmt::format("catalog version {}, this program reads version {}", h.version,
                                     kCatalogVersion));
  }
  if (!header_intact || h.version != kCatalogVersion || h.header_bytes != sizeof(Header)) {
    return damaged(name, fmt::format("header is damaged (checksum {:016x}, expected {:016x})",
                                     header_checksum(h), h.checksum));
  }
  if (h.file_bytes != file_bytes) {
    return damaged(name, fmt::format("{} bytes long instead of {}", file_bytes, h.file_bytes));
  }
  return h;
}

Result<> check_padding(Bytespan padding, const std::string& name) {
  for (const std::byte b : padding) {
    if (b != std::byte{0}) {
      return damaged(name, "bytes between its sections are damaged");
    }
  }
  return {};
}

// Sections follow each other in a fixed order, each at the next multiple of 8.
Result<std::array<Bytespan, kNames.size()>> read_sections(Bytespan bytes, const Header& h,
                                                          const std::string& name) {
  std::array<Bytespan, kNames.size()> out;
  std::uint64_t end = sizeof(Header);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const Section& s = h.sections[i];
    const std::uint64_t offset = align_up(end, kAlign);
    if (s.offset != offset || offset > bytes.size() || s.bytes > bytes.size() - offset) {
      return damaged(name, fmt::format("section {} is out of place", kNames[i]));
    }
    BLKSWEEP_CHECK(check_padding(bytes.subspan(end, offset - end), name));
    out[i] = bytes.subspan(offset, s.bytes);
    if (const std::uint64_t sum = XXH3_64bits(out[i].data(), s.bytes); sum != s.checksum) {
      return damaged(name, fmt::format("section {} is damaged (checksum {:016x}, expected {:016x})",
                                       kNames[i], sum, s.checksum));
    }
    end = offset + s.bytes;
  }
  if (end != bytes.size()) {
    return damaged(name, "bytes behind its last section");
  }
  return out;
}

template <class T>
bool take(Bytespan bytes, std::span<const T>& out) {
  out = {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  return bytes.size() % sizeof(T) == 0;
}

// Before all of it is taken into memory: a file may say that it is larger than any catalog.
Result<> look_at_head(int fd, const std::string& path) {
  BLKSWEEP_TRY(const std::uint64_t size, file_size(fd, path));
  std::array<std::byte, sizeof(Header)> head{};
  BLKSWEEP_TRY(const std::size_t got, pread_full(fd, head, 0, path));
  BLKSWEEP_CHECK(read_header(std::span(head).first(got), size, path));
  return {};
}

std::string_view text_of(Bytespan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<DecodedCatalog> decode_catalog(std::span<const std::byte> bytes, const std::string& name) {
  BLKSWEEP_TRY(const Header h, read_header(bytes, bytes.size(), name));
  BLKSWEEP_TRY(const auto sections, read_sections(bytes, h, name));
  Catalog c;
  const bool whole_records = take(sections[0], c.files) && take(sections[1], c.extents) &&
                             take(sections[2], c.whole) && take(sections[3], c.parts) &&
                             take(sections[4], c.path_end) && take(sections[6], c.label_end);
  if (!whole_records || (h.flags & ~(kDeviceReadable | kLinksFollowed)) != 0) {
    return damaged(name, "a section holds a part of a record, or a flag is unknown");
  }
  c.path_bytes = text_of(sections[5]);
  c.label_bytes = text_of(sections[7]);
  c.root = text_of(sections[8]);
  c.device = h.device;
  c.partition_start = h.partition_start;
  c.block_bytes = h.block_bytes;
  c.device_readable = (h.flags & kDeviceReadable) != 0;
  c.links_followed = (h.flags & kLinksFollowed) != 0;
  if (const auto valid = validate_catalog(c); !valid) {
    return damaged(name, "inconsistent: " + valid.error().message());
  }
  return DecodedCatalog{c, text_of(sections[9])};
}

Result<std::string> encode_catalog(const CatalogParts& parts) {
  BLKSWEEP_CHECK(validate_catalog(parts.view()));
  const std::array<Bytespan, kNames.size()> content{
      as_span(parts.files),      as_span(parts.extents),     as_span(parts.whole),
      as_span(parts.parts),      as_span(parts.path_end),    as_span(parts.path_bytes),
      as_span(parts.label_end),  as_span(parts.label_bytes), as_span(parts.root),
      as_span(parts.device_node)};
  Header h{};
  h.magic = kMagic;
  h.version = kCatalogVersion;
  h.header_bytes = sizeof(Header);
  h.device = parts.device;
  h.partition_start = parts.partition_start;
  h.block_bytes = parts.block_bytes;
  h.flags =
      (parts.device_readable ? kDeviceReadable : 0) | (parts.links_followed ? kLinksFollowed : 0);
  std::uint64_t end = sizeof(Header);
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::uint64_t offset = align_up(end, kAlign);
    h.sections[i] = {offset, content[i].size(), XXH3_64bits(content[i].data(), content[i].size())};
    end = offset + content[i].size();
  }
  h.file_bytes = end;
  h.checksum = header_checksum(h);
  std::string out(end, '\0');
  std::memcpy(out.data(), &h, sizeof h);
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (!content[i].empty()) {
      std::memcpy(out.data() + h.sections[i].offset, content[i].data(), content[i].size());
    }
  }
  return out;
}

Result<> check_catalog_place(const std::string& path) {
  return check_output_place(path, {"catalog", {std::string(kMagic.data(), kMagic.size())}});
}

Result<> write_catalog(const std::string& path, const CatalogParts& parts) {
  BLKSWEEP_TRY(const std::string bytes, encode_catalog(parts));
  return write_file(path, bytes);
}

Result<CatalogFile> CatalogFile::open(const std::string& path) {
  CatalogFile f;
  BLKSWEEP_TRY(const Fd fd, open_regular(path));
  BLKSWEEP_CHECK(look_at_head(fd.get(), path));
  BLKSWEEP_TRY(f.bytes_, WholeFile::read(fd.get(), path));
  BLKSWEEP_TRY(const DecodedCatalog decoded, decode_catalog(f.bytes_.bytes(), path));
  f.view_ = decoded.catalog;
  f.node_ = decoded.device_node;
  return f;
}

}  // namespace blksweep
