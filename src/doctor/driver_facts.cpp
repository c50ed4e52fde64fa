#include "doctor/driver_facts.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace blksweep {
namespace {

struct LibraryCloser {
  void operator()(void* l) const { ::dlclose(l); }
};

template <class F>
F function(void* library, const char* name) {
  return reinterpret_cast<F>(::dlsym(library, name));
}

}  // namespace

DriverFacts ask_driver() {
  const std::unique_ptr<void, LibraryCloser> library(::dlopen("libcuda.so.1", RTLD_NOW));
  if (!library) {
    return {{}, {}, "no libcuda.so.1"};
  }
  const auto init = function<int (*)(unsigned)>(library.get(), "cuInit");
  const auto version = function<int (*)(int*)>(library.get(), "cuDriverGetVersion");
  const auto count = function<int (*)(int*)>(library.get(), "cuDeviceGetCount");
  const auto name = function<int (*)(char*, int, int)>(library.get(), "cuDeviceGetName");
  int number = 0;
  int devices = 0;
  if (init == nullptr || version == nullptr || count == nullptr || name == nullptr) {
    return {{}, {}, "libcuda.so.1 lacks functions"};
  }
  if (const int err = init(0); err != 0 || version(&number) != 0 || count(&devices) != 0) {
    return {{}, {}, fmt::format("cuInit fails with {}", err)};
  }
  DriverFacts d;
  d.version = fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  for (int i = 0; i < devices; ++i) {
    std::array<char, 128> text{};
    d.devices += name(text.data(), static_cast<int>(text.size()) - 1, i) == 0
                     ? fmt::format("{}{}", d.devices.empty() ? "" : ", ", text.data())
                     : "";
  }
  return d;
}

}  // namespace blksweep
