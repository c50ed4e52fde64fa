#include "experiment/fio_engine.h"

#include <algorithm>
#include <array>

namespace blksweep {
namespace {

constexpr std::array kFioEngines{
    FioEngine{EngineKind::io_uring, "io_uring", "", ""},
    FioEngine{
        EngineKind::uring_sqpoll, "", "",
        "fio's sqthread_poll wants all files open before it starts, and a list of reads opens "
        "them as it goes"},
    FioEngine{EngineKind::uring_iopoll, "io_uring", "hipri=1\n", ""},
    FioEngine{EngineKind::libaio, "libaio", "", ""},
    FioEngine{EngineKind::psync, "psync", "", ""},
    FioEngine{EngineKind::nowait, "", "", "fio has no pool of threads behind RWF_NOWAIT"},
    FioEngine{EngineKind::mmap, "", "",
              "fio's mmap engine reads no list of reads (it maps 0 bytes: Invalid argument)"},
    FioEngine{EngineKind::hint, "", "", "fio tells the kernel of no reads ahead"},
    FioEngine{EngineKind::no_op, "", "", "fio has no engine that reads nothing in our place"},
};

}  // namespace

const FioEngine& fio_engine(EngineKind engine) {
  return *std::ranges::find(kFioEngines, engine, &FioEngine::engine);
}

}  // namespace blksweep
