#include "os/process/own_program.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdint>

namespace blksweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLinkToSelf = "/proc/self/exe";

// As it was named at the start; the loader puts the program's name there in place of its own.
fs::path started_as() {
  const auto at = static_cast<std::uintptr_t>(::getauxval(AT_EXECFN));
  const auto* name = reinterpret_cast<const char*>(at);  // NOLINT(performance-no-int-to-ptr)
  std::error_code ec;
  const fs::path path = name == nullptr ? fs::path() : fs::canonical(name, ec);
  return ec ? fs::path() : path;
}

fs::path find() {
  const fs::path started = started_as();
  if (::getauxval(AT_BASE) == 0 && !started.empty()) {  // BUNDLE/bin/NAME is started by BUNDLE/NAME
    const fs::path launcher = started.parent_path().parent_path() / started.filename();
    return ::access(launcher.c_str(), X_OK) == 0 ? launcher : started;
  }
  std::error_code ec;
  const fs::path self = fs::read_symlink(kLinkToSelf, ec);
  if (!ec) {
    return self;
  }
  return started.empty() ? fs::path(kLinkToSelf) : started;
}

}  // namespace

fs::path own_program() {
  static const fs::path program = find();
  return program;
}

}  // namespace blksweep
