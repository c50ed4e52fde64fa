// Whether this is a sanitizer build: gcc says so by macros, clang by features.
#pragma once

namespace blksweep::support {

#if defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
inline constexpr bool kSanitized = kThreadSanitizer || __has_feature(address_sanitizer);
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
inline constexpr bool kSanitized = true;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kThreadSanitizer = false;
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kThreadSanitizer = false;
inline constexpr bool kSanitized = false;
#endif

}  // namespace blksweep::support
