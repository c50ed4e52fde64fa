// The catalog that a data set would have right after it was made on an empty disk, without making
// it: for predictions.
//
// Layout:  file behind file in the order of creation, each of one extent.
// Errors:  nothing for fragmented data and for other formats than files.
// Threads: pure.
#pragma once

#include <optional>

#include "dataset/catalog_parts.h"
#include "dataset/make.h"

namespace blksweep {

std::optional<CatalogParts> planned_catalog(const MakeSettings& settings);

}  // namespace blksweep
