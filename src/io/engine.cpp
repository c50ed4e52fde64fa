#include "io/engine.h"

#include "io/psync_engine.h"
#include "io/uring_engine.h"

namespace blksweep {

std::string_view to_string(EngineKind k) {
  return k == EngineKind::io_uring ? "io_uring" : "psync";
}

Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineSettings& settings) {
  return kind == EngineKind::io_uring ? make_uring_engine(settings) : make_psync_engine(settings);
}

}  // namespace blksweep
