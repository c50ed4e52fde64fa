// What a thread of the loader does, for those who decide where it runs (node/limits/binding.h).
#pragma once

#include <functional>

namespace blksweep {

enum class Role { reader, openers, copy, consumer };

// Called on each thread that the loader starts, before it does anything; empty: threads run where
// the one that started them does. The reader's role is the caller's own thread and its business.
using PlaceThread = std::function<void(Role)>;

inline void take_place(const PlaceThread& place, Role role) {
  if (place) {
    place(role);
  }
}

}  // namespace blksweep
