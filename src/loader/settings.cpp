#include "loader/settings.h"

#include <fmt/format.h>

#include <charconv>

namespace blksweep {
namespace {

// Enough for the later extents of fragmented files to be met, and little beside a window.
constexpr std::uint64_t kHorizon = std::uint64_t{4} << 20;

bool address_sorted(const LoaderSettings& settings) {
  return settings.order == Order::lba || in_chunks(settings.order) ||
         settings.sort_window.bytes.n > 0 || settings.sort_window.percent > 0;
}

// What one call to a ring takes, and what --depth may be.
constexpr std::uint32_t kMostOfCall = 4096;

Result<> check_workers(const LoaderSettings& s) {
  if (s.merge != Merge::none) {
    return usage_error(
        fmt::format("--merge {}: workers open and read each sample on its own, so there is nothing "
                    "to merge: give --merge none with --reader workers:N",
                    to_string(s.merge)));
  }
  if (s.shuffle != Shuffle::none) {
    return usage_error(
        fmt::format("--shuffle {}: a worker reads the batch that is due, so nothing waits to be "
                    "mixed: what mixes it is --order random",
                    to_string(s.shuffle)));
  }
  if (s.scope == ReadScope::batch && s.batch > kMostOfCall) {
    return usage_error(fmt::format(
        "--scope batch: one call reads {} samples at most, --batch is {}", kMostOfCall, s.batch));
  }
  return {};
}

Result<> check_engine(const LoaderSettings& s) {
  const EngineTraits can = traits_of(s.engine);
  if (s.merge == Merge::device && !can.direct) {
    return usage_error(
        fmt::format("--engine {}: reads the page cache, --merge device reads the block device past "
                    "it: give another --merge",
                    to_string(s.engine)));
  }
  if (s.direct && !can.direct) {
    return usage_error(
        fmt::format("--engine {}: reads the page cache: leave --direct out, or give --buffered",
                    to_string(s.engine)));
  }
  if (!s.direct && !can.buffered) {
    return usage_error(
        fmt::format("--engine {}: polls the device for direct reads, buffered ones have nothing to "
                    "poll: give --direct",
                    to_string(s.engine)));
  }
  return {};
}

}  // namespace

Result<RelativeSize> parse_relative(std::string_view text) {
  if (!text.ends_with('%')) {
    BLKSWEEP_TRY(const Bytes bytes, parse_bytes(text));
    return RelativeSize{bytes, 0};
  }
  double percent = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [rest, ec] = std::from_chars(text.data(), end, percent);
  if (ec != std::errc{} || rest != end || !(percent > 0 && percent <= 100)) {
    return usage_error(
        fmt::format("'{}' is not a share such as 10%, or a size such as 64MiB", text));
  }
  return RelativeSize{{}, percent};
}

Result<> check_reader(const LoaderSettings& s) {
  BLKSWEEP_CHECK(check_engine(s));
  const bool spins = s.decode_cpu.count() > 0;
  if (spins && s.workers == 0 && s.decode_threads == 0) {
    return usage_error(
        "--decode-cpu: workers decode what they read, the planned reader leaves that to threads "
        "behind it: say how many with --decode-threads");
  }
  if (!s.read_share.all() && !spins && s.decode_threads > 0) {
    return usage_error("--read-share: a packed sample is decoded from all of its bytes");
  }
  return s.workers > 0 ? check_workers(s) : Result<>();
}

Bytes horizon_of(const LoaderSettings& settings) {
  if (settings.merge != Merge::device || !address_sorted(settings)) {
    return {0};
  }
  const std::uint64_t wanted = settings.merge_horizon.value_or(Bytes{kHorizon}).n;
  return {in_chunks(settings.order) ? std::min(wanted, settings.chunk.n) : wanted};
}

Bytes lookahead_of(const LoaderSettings& settings, Bytes whole) {
  if (settings.lookahead) {
    return settings.lookahead->of(whole);
  }
  return {settings.shuffle == Shuffle::none ? 8 * settings.chunk.n
                                            : settings.window.of(whole).n / 2};
}

std::uint32_t submit_batch_of(const LoaderSettings& settings) {
  return settings.merge == Merge::kernel ? settings.merge_batch.of(settings.depth) : 0;
}

std::string_view to_string(ReadScope scope) {
  return scope == ReadScope::sample ? "sample" : "batch";
}

std::uint32_t batch_slots_of(const LoaderSettings& settings) {
  return settings.workers > 0 ? settings.workers * settings.prefetch + 1 : 0;
}

std::uint32_t refill_of(const LoaderSettings& settings) {
  return std::max(settings.refill.of(settings.depth), submit_batch_of(settings));
}

}  // namespace blksweep
