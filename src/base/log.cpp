#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "base/text.h"

namespace blksweep {
namespace {

std::atomic<Verbosity> verbosity{Verbosity::normal};

void line(Verbosity needed, std::string_view prefix, std::string_view text) {
  if (verbosity.load(std::memory_order_relaxed) < needed) {
    return;
  }
  std::string out(prefix);
  out.append(printable(text)).push_back('\n');
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace

void set_verbosity(Verbosity v) { verbosity = v; }
bool is_quiet() { return verbosity.load(std::memory_order_relaxed) == Verbosity::quiet; }
void warn(std::string_view text) { line(Verbosity::normal, "blksweep: warning: ", text); }
void note(std::string_view text) { line(Verbosity::normal, "blksweep: ", text); }
void detail(std::string_view text) { line(Verbosity::verbose, "blksweep: ", text); }

}  // namespace blksweep
