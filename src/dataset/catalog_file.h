// A catalog in a file: versioned, checksummed, read whole. Layout: docs/catalog-format.md.
//
// Errors:    open() accepts arbitrary bytes: whatever is not a whole, undamaged and consistent
//            catalog of this version is an Error that says what is wrong and how to go on. After
//            open() every index, offset and sum in the view is in range.
// Ownership: CatalogFile owns a private copy, so that nobody changes what was checked; view() ends
//            with it.
// Threads:   read only after open().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dataset/catalog_parts.h"
#include "os/file/file.h"
#include "plan/catalog.h"

namespace blksweep {

inline constexpr std::uint32_t kCatalogVersion = 1;

class CatalogFile {
 public:
  static Result<CatalogFile> open(const std::string& path);
  const Catalog& view() const { return view_; }
  std::string_view device_node() const { return node_; }  // "" when it was not known

 private:
  WholeFile bytes_;
  Catalog view_;
  std::string_view node_;
};

// What a catalog file's bytes say, as a view into `bytes` (8-byte aligned). `name` is for errors.
struct DecodedCatalog {
  Catalog catalog;
  std::string_view device_node;
};
Result<DecodedCatalog> decode_catalog(std::span<const std::byte> bytes, const std::string& name);
// The bytes of a catalog file. Errors: parts that break the rules of plan/catalog.h.
Result<std::string> encode_catalog(const CatalogParts& parts);

// Whether a catalog may be written there. Errors: usage: what is there has bytes, and is none.
Result<> check_catalog_place(const std::string& path);

// Replaces `path` in one step (temporary file, fsync, rename).
Result<> write_catalog(const std::string& path, const CatalogParts& parts);

// The rules of plan/catalog.h: everything sorted, in range and without overflow. The first broken
// rule as an Error without context ("extent 7: overlaps the one before").
Result<> validate_catalog(const Catalog& catalog);

}  // namespace blksweep
