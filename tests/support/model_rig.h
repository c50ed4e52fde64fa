// Drives device models on virtual time, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/simulate.h"

namespace blksweep::support {

constexpr Bytes kDevice{std::uint64_t{8} << 30};

inline ModelSpec shipped(const std::string& name) {
  auto spec = load_model(name, {"scripts/models"});
  return spec ? *spec : ModelSpec{"missing: " + spec.error().text, "", InstantSpec{}};
}

struct Arrival {
  std::int64_t at;
  DiskRequest request;
};

// When each request was done: prompt (asked at each completion), late (asked at the end only), or
// asked at random times.
enum class Asking { prompt, late, random };
inline std::map<std::uint64_t, std::int64_t> completions(DiskModel& model,
                                                         const std::vector<Arrival>& arrivals,
                                                         Asking asking) {
  std::vector<DiskCompletion> done;
  Rng rng(5);
  std::int64_t now = 0;
  for (std::uint64_t tag = 0; tag < arrivals.size(); ++tag) {
    const std::int64_t at = arrivals[tag].at;
    while (asking == Asking::prompt && model.next() && *model.next() <= at) {
      model.advance(*model.next(), done);
    }
    while (asking == Asking::random && now < at && rng.below(3) > 0) {
      now += static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(at - now) + 1));
      model.advance(now, done);
    }
    now = at;
    model.arrive(at, tag, arrivals[tag].request);
  }
  while (const auto next = model.next()) {
    model.advance(asking == Asking::late ? std::int64_t{1} << 60 : *next, done);
  }
  std::map<std::uint64_t, std::int64_t> out;
  for (const DiskCompletion& c : done) {
    out.emplace(c.tag, c.at_ns);
  }
  return done.size() == arrivals.size() ? out : std::map<std::uint64_t, std::int64_t>{};
}

// One request alone: how long it takes from `at`.
inline std::int64_t latency(DiskModel& model, std::int64_t at, const DiskRequest& request) {
  std::vector<DiskCompletion> done;
  model.arrive(at, 0, request);
  while (const auto next = model.next()) {
    model.advance(*next, done);
  }
  return done.size() == 1 ? done.front().at_ns - at : -1;
}

inline std::vector<DiskRequest> random_reads(std::size_t count, Bytes size, std::uint32_t bytes) {
  Rng rng(11);
  std::vector<DiskRequest> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({rng.below(size.n / bytes) * bytes, bytes, false});
  }
  return out;
}

inline std::vector<DiskRequest> sequential(std::uint64_t from, std::uint64_t to,
                                           std::uint32_t bytes, bool write = false) {
  std::vector<DiskRequest> out;
  for (std::uint64_t at = from; at < to; at += bytes) {
    out.push_back({at, bytes, write});
  }
  return out;
}

inline double per_second(double count, const QueueResult& r) {
  return count * 1e9 / static_cast<double>(r.wall_ns);
}

}  // namespace blksweep::support
