#include "dataset/catalog_parts.h"

namespace blksweep {

void CatalogParts::add_file(FileRecord file, std::string_view path) {
  file.first_extent = static_cast<std::uint32_t>(extents.size());
  files.push_back(file);
  path_bytes.append(path);
  path_end.push_back(static_cast<std::uint32_t>(path_bytes.size()));
}

std::uint32_t CatalogParts::add_label(std::string_view name) {
  label_bytes.append(name);
  label_end.push_back(static_cast<std::uint32_t>(label_bytes.size()));
  return static_cast<std::uint32_t>(label_end.size() - 1);
}

Catalog CatalogParts::view() const {
  Catalog c;
  c.files = files;
  c.extents = extents;
  c.whole = whole;
  c.parts = parts;
  c.path_end = path_end;
  c.path_bytes = path_bytes;
  c.label_end = label_end;
  c.label_bytes = label_bytes;
  c.root = root;
  c.device = device;
  c.partition_start = partition_start;
  c.block_bytes = block_bytes;
  c.device_readable = device_readable;
  c.links_followed = links_followed;
  return c;
}

}  // namespace blksweep
