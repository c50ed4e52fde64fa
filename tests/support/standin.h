// For tests that want more of a GPU than a real one tells: the stand-in for libcuda.so.1
// (tests/standin/), where that is the one in use.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "standin/standin.h"
#include "support/gpu.h"

namespace blksweep {

class Standin {
 public:
  Standin() {
    if (!no_gpu().empty()) {
      return;
    }
    library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    set_ = find<void(const char*)>("standin_set");
    reset_ = find<void()>("standin_reset");
    complaints_ = find<const char*()>("standin_complaints");
    event_ns_ = find<std::int64_t(void*)>("standin_event_ns");
    spans_ = find<std::size_t(StandinSpan*, std::size_t)>("standin_spans");
    if (there()) {
      reset_();
    }
  }
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;
  ~Standin() {
    if (there()) {
      reset_();
    }
    if (library_ != nullptr) {
      ::dlclose(library_);
    }
  }

  bool there() const { return set_ != nullptr; }
  void set(const std::string& text) const { set_(text.c_str()); }
  void reset() const { reset_(); }
  std::string complaints() const { return complaints_(); }
  std::int64_t event_ns(void* event) const { return event_ns_(event); }
  std::vector<StandinSpan> spans() const {
    std::vector<StandinSpan> all(spans_(nullptr, 0));
    all.resize(std::min(all.size(), spans_(all.data(), all.size())));
    return all;
  }

 private:
  template <class F>
  F* find(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<F*>(::dlsym(library_, name));
  }

  void* library_ = nullptr;
  void (*set_)(const char*) = nullptr;
  void (*reset_)() = nullptr;
  const char* (*complaints_)() = nullptr;
  std::int64_t (*event_ns_)(void*) = nullptr;
  std::size_t (*spans_)(StandinSpan*, std::size_t) = nullptr;
};

// A fixture's SetUp(); the stand-in is as it was when it was loaded, and is so again afterwards.
#define SKIP_WITHOUT_STANDIN(standin)                                        \
  if (!(standin).there()) {                                                  \
    GTEST_SKIP() << "the stand-in for a GPU is not in use (tests/standin/)"; \
  }

}  // namespace blksweep
