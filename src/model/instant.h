// The device without any delay: what a request costs is the software above ("none").
#pragma once

#include <memory>

#include "model/disk_model.h"

namespace blksweep {

std::unique_ptr<DiskModel> make_instant();

}  // namespace blksweep
