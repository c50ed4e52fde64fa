// Whether a sanitizer is linked in. Asked when it runs: the tests themselves may be compiled
// without (PLAIN in the Makefile).
#pragma once

extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
}

namespace blksweep::support {

inline bool thread_sanitizer() { return &__tsan_init != nullptr; }
inline bool sanitized() { return thread_sanitizer() || &__asan_init != nullptr; }

}  // namespace blksweep::support
