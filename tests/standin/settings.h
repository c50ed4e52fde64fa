// The stand-in's settings and failures on demand (standin.h has the language).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

using Ns = std::int64_t;

struct Failure {
  std::string call;
  std::uint64_t after = 0;  // uses of the call
  int error = 0;
  bool sticky = false;
};

struct Settings {
  std::map<std::string, double, std::less<>> values{{"drift", 0},
                                                    {"offset", 0},
                                                    {"link", 20},
                                                    {"pageable_link", 5},
                                                    {"launch", 3000},
                                                    {"memory", 4e9},
                                                    {"copy_latency", 2000},
                                                    {"kernel_overhead", 2000},
                                                    {"driver", 13000},
                                                    {"devices", 1},
                                                    {"capability", 90},
                                                    {"batch", 1},
                                                    {"host_pointers", 1},
                                                    {"pageable", 0},
                                                    {"mig", 0},
                                                    {"cupti_shift", 0},
                                                    {"keep", 0}};
  std::vector<Failure> failures;
  std::map<std::string, std::uint64_t, std::less<>> uses;  // of each call

  double operator[](std::string_view key) const { return values.find(key)->second; }
  Ns ns(std::string_view key) const { return static_cast<Ns>((*this)[key]); }
  bool on(std::string_view key) const { return (*this)[key] != 0; }
  // Aborts at a key that there is not.
  void set(std::string_view text);
  // The failure that is due at this use of the call; nullptr: none.
  const Failure* use(std::string_view call);
};

}  // namespace standin
