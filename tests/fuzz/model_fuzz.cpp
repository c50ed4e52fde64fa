// Arbitrary bytes as a model file: no crash, each refusal one usage error; an accepted model reads
// back as itself and answers every request once, in finite steps.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/simulate.h"

namespace blksweep {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::vector<DiskRequest> requests_on(Bytes size) {
  Rng rng(1);
  std::vector<DiskRequest> out;
  std::uint64_t at = 0;
  for (int i = 0; i < 200; ++i) {
    const auto bytes = static_cast<std::uint32_t>(1 + rng.below(std::uint64_t{1} << rng.below(21)));
    at = rng.below(2) == 0 || at > size.n - bytes ? rng.below(size.n - bytes) : at;
    out.push_back({at, bytes, rng.below(4) == 0});
    at += bytes;
  }
  return out;
}

void check_runs(const ModelSpec& spec, Bytes size) {
  const ModelFacts facts = model_facts(spec, size);
  require(!facts.random_mean_ns || *facts.random_mean_ns >= 0);
  const auto requests = requests_on(size);
  for (const std::uint32_t depth : {1U, 32U}) {
    const auto model = make_model(spec, size);
    const QueueResult result = simulate_queue(*model, requests, depth, 1000);
    std::uint64_t bytes = 0;
    for (const DiskRequest& r : requests) {
      bytes += r.bytes;
    }
    require(result.bytes == bytes && !model->next());
  }
}

}  // namespace
}  // namespace blksweep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blksweep;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto spec = parse_model(text, "fuzz.toml");
  if (!spec) {
    require(spec.error().exit_code == Exit::usage);
    require(spec.error().message().find('\n') == std::string::npos);
    return 0;
  }
  const std::string written = to_toml(*spec);
  const auto again = parse_model(written, "again.toml");
  require(again && to_toml(*again) == written);
  check_runs(*spec, Bytes{std::uint64_t{8} << 30});
  check_runs(*spec, Bytes{std::uint64_t{2} << 20});
  return 0;
}
