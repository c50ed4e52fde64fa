// Trace files: bytes a record and records a second of one CPU, decoded and encoded, of a mix like a
// cloud volume's: random addresses, sizes of seven kinds, a thousand volumes, microseconds.
//
//   build/bench/trace_bench [RECORDS]
//
// Bar: decoding >= 15 million records/s, <= 10 bytes a record. CPU time of the thread, the best of
// five.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "base/rng.h"
#include "trace/trace_block.h"

namespace blksweep {
namespace {

std::vector<TraceRecord> cloud_mix(std::size_t count) {
  constexpr std::uint64_t kSizes[] = {4096, 4096, 4096, 8192, 16384, 65536, 131072};
  Rng rng(1);
  std::vector<TraceRecord> out(count);
  std::int64_t time = 0;
  for (TraceRecord& r : out) {
    time += static_cast<std::int64_t>(rng.below(400)) * 1000;
    const std::uint64_t volume = rng.below(1000);
    r.time_ns = time;
    r.place = static_cast<std::uint32_t>(volume * volume / 1000);
    r.offset = rng.below(1 << 24) * 4096;
    r.bytes = kSizes[rng.below(std::size(kSizes))];
    r.op = rng.below(4) == 0 ? TraceOp::read : TraceOp::write;
  }
  return out;
}

double million_a_second(std::size_t records, std::int64_t ns) {
  return static_cast<double>(records) * 1e3 / static_cast<double>(ns);
}

int run(std::size_t count) {
  const std::vector<TraceRecord> records = cloud_mix(count);
  const std::vector<std::string> names(1000, "v");
  BlockCoder coder;
  std::vector<std::string> blocks;
  std::int64_t encode_ns = INT64_MAX, decode_ns = INT64_MAX;
  std::size_t stored = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    blocks.clear();
    stored = 0;
    const std::int64_t begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (std::size_t i = 0; i < count; i += kBlockRecords) {
      const std::size_t n = std::min<std::size_t>(kBlockRecords, count - i);
      coder.encode(std::span(records).subspan(i, n), i == 0 ? names : std::vector<std::string>(),
                   blocks.emplace_back());
      stored += blocks.back().size();
    }
    encode_ns = std::min(encode_ns, cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
  }
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<TraceRecord> out;
    std::vector<std::string> known;
    const std::int64_t begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (const std::string& block : blocks) {
      BlockHead head;
      std::copy_n(block.data(), sizeof head, reinterpret_cast<char*>(&head));
      const auto body = std::as_bytes(std::span(block)).subspan(sizeof head);
      if (!coder.decode(head, body, out, &known)) {
        return 1;
      }
    }
    decode_ns = std::min(decode_ns, cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
  }
  fmt::print("records {}: {:.2f} bytes each; encoded {:.1f}, decoded {:.1f} million/s of a CPU\n",
             count, static_cast<double>(stored) / static_cast<double>(count),
             million_a_second(count, encode_ns), million_a_second(count, decode_ns));
  return 0;
}

}  // namespace
}  // namespace blksweep

int main(int argc, char** argv) {
  return blksweep::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000);
}
