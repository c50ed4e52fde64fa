// Flash: pages on parallel channels behind one link.
//
// A request is split at multiples of `page`; page i belongs to channel i mod channels, which works
// on one page at a time in the order of arrival. When the last page is there the request's bytes go
// over the link, one request after another in the order in which they got ready.
#pragma once

#include <memory>

#include "model/disk_model.h"

namespace blksweep {

std::unique_ptr<DiskModel> make_flash(const FlashSpec& spec);

}  // namespace blksweep
