// A value that may be unknown: std::nullopt becomes NULL, never 0.
#pragma once

#include <optional>

namespace blksweep {

template <class T>
using Maybe = std::optional<T>;

}  // namespace blksweep
