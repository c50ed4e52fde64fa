// The program at the top of a bundle: starts BUNDLE/bin/NAME, where NAME is what it is called
// itself, through the loader and the C library in BUNDLE/lib (docs/bundle.md says why).
//
// Linked static: it needs no C library, no shell and no /proc on the node. The environment goes on
// as it is, so that fio and Python, which the program may start, find the node's own libraries.
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kCannotStart = 127;  // as a shell says it
using Path = std::array<char, PATH_MAX>;

int cannot(const char* what, const char* path) {
  std::fprintf(stderr, "blksweep: %s %s: %s: unpack the bundle as a whole\n", what, path,
               std::strerror(errno));
  return kCannotStart;
}

// Cuts the last part of a path off and returns it.
const char* cut(char* path) {
  char* slash = std::strrchr(path, '/');
  *slash = '\0';
  return slash + 1;
}

// The folder of this program, links followed; its name goes into `name`.
bool find_bundle(Path& bundle, const char*& name) {
  const auto at = static_cast<unsigned long>(getauxval(AT_EXECFN));
  const char* started = at == 0 ? "" : reinterpret_cast<const char*>(at);
  if (realpath("/proc/self/exe", bundle.data()) == nullptr &&
      realpath(started, bundle.data()) == nullptr) {
    return false;
  }
  name = cut(bundle.data());
  return true;
}

// The bundle's libraries first; those that the node names (a GPU driver's) after them.
bool library_path(const char* bundle, std::array<char, 4 * PATH_MAX>& out) {
  const char* node = std::getenv("LD_LIBRARY_PATH");
  const bool any = node != nullptr && *node != '\0';
  const int length =
      std::snprintf(out.data(), out.size(), "%s/lib%s%s", bundle, any ? ":" : "", any ? node : "");
  return length > 0 && static_cast<std::size_t>(length) < out.size();
}

bool is_test(const char* name) {
  return std::strcmp(name, "bundle-test") == 0 || std::strcmp(name, "gpu-test") == 0;
}

// Tests write files: where a node usually lets them, or in the bundle itself (an empty root has no
// /tmp). A program that measures is not told where to write.
bool find_folder(const char* bundle) {
  const char* named = std::getenv("TMPDIR");
  for (const char* folder : {named, "/tmp", "/dev/shm", bundle}) {
    if (folder != nullptr && *folder != '\0' && access(folder, W_OK | X_OK) == 0) {
      setenv("TMPDIR", folder, /*overwrite=*/1);
      return true;
    }
  }
  return false;
}

// BUNDLE_TESTS is set when this is compiled: bundle-test runs these of the unit tests.
bool prepare_tests(const char* name, const char* bundle) {
  if (std::strcmp(name, "bundle-test") == 0) {
    setenv("GTEST_FILTER", BUNDLE_TESTS, /*overwrite=*/0);
  }
  if (find_folder(bundle)) {
    return true;
  }
  std::fprintf(stderr,
               "%s: no folder to write in ($TMPDIR, /tmp, /dev/shm, %s): set TMPDIR to one\n", name,
               bundle);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  static Path bundle, loader, program;
  static std::array<char, 4 * PATH_MAX> libraries;
  const char* name = nullptr;
  if (!find_bundle(bundle, name)) {
    return cannot("find", argc > 0 ? argv[0] : "this program");
  }
  const auto length = std::strlen(bundle.data()) + std::strlen(name) + sizeof "/lib/" LOADER;
  if (length >= PATH_MAX || !library_path(bundle.data(), libraries)) {
    errno = ENAMETOOLONG;
    return cannot("start", name);
  }
  std::snprintf(loader.data(), loader.size(), "%s/lib/" LOADER, bundle.data());
  std::snprintf(program.data(), program.size(), "%s/bin/%s", bundle.data(), name);
  if (is_test(name) && !prepare_tests(name, bundle.data())) {
    return kCannotStart;
  }
  static std::array<const char*, 6> begin{
      loader.data(), "--library-path",          libraries.data(),
      "--argv0",     argc > 0 ? argv[0] : name, program.data()};
  const std::size_t rest = argc > 0 ? static_cast<std::size_t>(argc) - 1 : 0;
  auto** all = static_cast<const char**>(std::calloc(begin.size() + rest + 1, sizeof(char*)));
  if (all == nullptr) {
    return cannot("start", name);
  }
  std::memcpy(all, begin.data(), sizeof begin);
  std::memcpy(all + begin.size(), argv + 1, rest * sizeof(char*));
  execv(loader.data(), const_cast<char**>(all));
  return cannot("start", loader.data());
}
