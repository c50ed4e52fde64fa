#include "io/engine.h"

#include "io/no_op_engine.h"
#include "io/psync_engine.h"
#include "io/uring_engine.h"

namespace blksweep {

std::string_view to_string(EngineKind k) {
  switch (k) {
    case EngineKind::io_uring:
      return "io_uring";
    case EngineKind::psync:
      return "psync";
    case EngineKind::no_op:
      break;
  }
  return "no-op";
}

Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineSettings& settings) {
  switch (kind) {
    case EngineKind::io_uring:
      return make_uring_engine(settings);
    case EngineKind::psync:
      return make_psync_engine(settings);
    case EngineKind::no_op:
      break;
  }
  return make_no_op_engine(settings);
}

}  // namespace blksweep
