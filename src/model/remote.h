// Remote: a server behind a network. Half a round trip there, one request after another at the
// server, one after another over the link, and back.
//
// Requests keep their order on the way there. Jitter, a log-normal factor on the whole round trip,
// is met on the way back, where answers may overtake each other.
#pragma once

#include <cstdint>
#include <memory>

#include "model/disk_model.h"

namespace blksweep {

std::unique_ptr<DiskModel> make_remote(const RemoteSpec& spec, std::uint64_t seed);

}  // namespace blksweep
