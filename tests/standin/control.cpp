#include "standin/standin.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "standin/gpu.h"

namespace standin {
namespace {

// A process that ends in order has given everything back, unless its GPU was lost.
struct AtExit {
  ~AtExit() {
    Gpu& gpu = Gpu::get();
    const std::lock_guard lock(gpu.mutex);
    const std::size_t left =
        gpu.streams.size() + gpu.events.size() + gpu.memory.count() + gpu.pinned.count();
    if (left > 0 && gpu.dead == 0) {
      std::fprintf(stderr,
                   "standin: at the end there are left: %zu streams, %zu events, %zu pieces of the "
                   "GPU's memory, %zu of pinned memory\n",
                   gpu.streams.size(), gpu.events.size(), gpu.memory.count(), gpu.pinned.count());
      std::abort();
    }
  }
};
const AtExit at_exit;

}  // namespace
}  // namespace standin

using standin::Gpu;

void standin_set(const char* text) {
  const std::lock_guard lock(Gpu::get().mutex);
  Gpu::get().settings.set(text);
}

void standin_reset() {
  const std::lock_guard lock(Gpu::get().mutex);
  Gpu::get().reset();
}

const char* standin_complaints() {
  Gpu& gpu = Gpu::get();
  const std::lock_guard lock(gpu.mutex);
  gpu.complaints_told = std::move(gpu.complaints);
  gpu.complaints.clear();
  return gpu.complaints_told.c_str();
}

std::size_t standin_spans(StandinSpan* to, std::size_t room) {
  const Gpu& gpu = Gpu::get();
  const std::lock_guard lock(Gpu::get().mutex);
  std::copy_n(gpu.spans.begin(), std::min(room, gpu.spans.size()), to);
  return gpu.spans.size();
}

std::int64_t standin_event_ns(void* event) {
  const std::lock_guard lock(Gpu::get().mutex);
  const auto known = Gpu::get().event_of(event);
  return known ? known->at : 0;
}
