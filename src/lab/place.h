// Where the threads of an epoch run.
#pragma once

#include "node/binding.h"

namespace blksweep {

// Of the calling thread. RunNode has tried every role before the epoch: this finds no new failure.
inline void take_place(const Binding* binding, Role role) {
  if (binding != nullptr && !binding->empty()) {
    [[maybe_unused]] const Result<std::string> cpus = binding->bind(role);
  }
}

}  // namespace blksweep
