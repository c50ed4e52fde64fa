#include "io/engine.h"

#include <utility>

#include "io/hint_engine.h"
#include "io/libaio_engine.h"
#include "io/mmap_engine.h"
#include "io/no_op_engine.h"
#include "io/nowait_engine.h"
#include "io/psync_engine.h"
#include "io/uring_engine.h"

namespace blksweep {
namespace {

// A new engine is a row here, an enumerator, and a place in kEngines.
struct EngineRow {
  EngineKind kind;
  std::string_view name;
  EngineTraits traits;
  Result<std::unique_ptr<Engine>> (*make)(const EngineSettings&);
};
constexpr std::array kRows{
    EngineRow{EngineKind::io_uring, "io_uring", {true, true, true}, make_uring_engine},
    EngineRow{EngineKind::uring_sqpoll, "io_uring-sqpoll", {true, true, true}, make_sqpoll_engine},
    EngineRow{EngineKind::uring_iopoll, "io_uring-iopoll", {true, false, true}, make_iopoll_engine},
    EngineRow{EngineKind::libaio, "libaio", {true, true, true}, make_libaio_engine},
    EngineRow{EngineKind::psync, "psync", {true, true, false}, make_psync_engine},
    EngineRow{EngineKind::nowait, "nowait", {false, true, true}, make_nowait_engine},
    EngineRow{EngineKind::mmap, "mmap", {false, true, false}, make_mmap_engine},
    EngineRow{EngineKind::hint, "hint", {false, true, false}, make_hint_engine},
    EngineRow{EngineKind::no_op, "no-op", {true, true, true}, make_no_op_engine},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].kind != static_cast<EngineKind>(i) ||
        (i < kEngines.size() && kEngines[i] != kRows[i].kind)) {
      return false;
    }
  }
  return kRows.size() == kEngines.size() + 1;
}
static_assert(in_order());

const EngineRow& row_of(EngineKind k) { return kRows[static_cast<std::size_t>(k)]; }

}  // namespace

std::string_view to_string(EngineKind k) { return row_of(k).name; }
EngineTraits traits_of(EngineKind k) { return row_of(k).traits; }

std::string_view to_string(MapAdvice advice) {
  constexpr std::array<std::string_view, 4> kWords{"normal", "random", "sequential", "willneed"};
  return kWords[static_cast<std::size_t>(advice)];
}

std::string_view to_string(HintCall call) {
  return call == HintCall::fadvise ? "fadvise" : "readahead";
}

Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineSettings& settings) {
  return row_of(kind).make(settings);
}

}  // namespace blksweep
