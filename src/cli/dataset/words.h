// The words of data sets' settings, as options and as keys of a spec.
//
// Errors:  usage; the text is quoted. Threads: pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "dataset/make.h"
#include "dataset/pack.h"

namespace blksweep {

Result<PackFormat> parse_format(std::string_view text);        // files, tar, records
Result<Arrangement> parse_arrangement(std::string_view text);  // by-class, mixed
Result<PackLayout> parse_layout(std::string_view text);        // files, tar
Result<ElementType> parse_element(std::string_view text);      // raw, fp16
Result<Codec> parse_codec(std::string_view text);              // none, zstd, lz4, blosc
Result<int> parse_level(std::string_view text);

}  // namespace blksweep
