#include "cli/turn.h"

#include <fmt/format.h>
#include <time.h>

#include "base/log.h"
#include "os/process/signals.h"

namespace blksweep {

Result<> wait_for_turn(ResultStore& store, const std::string& db) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 100'000'000};
  std::string holder;
  for (bool told = false;; told = true) {
    BLKSWEEP_TRY(const bool mine, store.claim(holder));
    if (mine) {
      return {};
    }
    if (stop_requested()) {
      return fail("interrupted while waiting for " + db, Exit::interrupted);
    }
    if (!told) {
      note(fmt::format("{}: another sweep writes to it ({}): waiting for its end", db, holder));
    }
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace blksweep
