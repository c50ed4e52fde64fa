#include "probe/libbpf_words.h"

#include <bpf/libbpf.h>

#include <array>
#include <cstdarg>
#include <cstdio>

namespace blksweep {
namespace {

thread_local std::string last_words;

__attribute__((format(printf, 2, 0))) int keep_last_words(libbpf_print_level level,
                                                          const char* format, va_list args) {
  std::array<char, 256> line{};
  if (level == LIBBPF_WARN && std::vsnprintf(line.data(), line.size(), format, args) > 0) {
    std::string text = line.data();
    text = text.substr(0, text.find('\n'));
    // The verifier's log goes through here too, and "failed to load" lines follow the cause.
    if (text.starts_with("libbpf: ") && text.find("failed to load BPF") == std::string::npos &&
        text.find("failed to load object") == std::string::npos) {
      last_words = text.substr(8);
    }
  }
  return 0;
}

}  // namespace

LibbpfWords::LibbpfWords() : before_(reinterpret_cast<void*>(libbpf_set_print(keep_last_words))) {}

LibbpfWords::~LibbpfWords() { libbpf_set_print(reinterpret_cast<libbpf_print_fn_t>(before_)); }

const std::string& LibbpfWords::last() { return last_words; }

void LibbpfWords::forget() { last_words.clear(); }

}  // namespace blksweep
