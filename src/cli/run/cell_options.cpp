#include "cli/run/cell_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "cli/run/cell_meaning.h"
#include "cli/run/peers.h"
#include "experiment/fallback.h"

namespace blksweep {
namespace {

template <class E, std::size_t N>
Result<> set_word(E& target, std::string_view text,
                  const std::array<std::pair<std::string_view, E>, N>& words) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : words) {
    if (name == text) {
      target = value;
      return {};
    }
    names.push_back(name);
  }
  return usage_error(fmt::format("'{}' is not one of {}", text, joined(names, ", ")));
}

template <class E, std::size_t N>
std::string word_of(E value, const std::array<std::pair<std::string_view, E>, N>& words) {
  for (const auto& [name, word] : words) {
    if (word == value) {
      return std::string(name);
    }
  }
  return "";
}

// The plan's enums have their words in plan/; here they only become a table to look them up in.
template <class E, std::size_t N>
auto words_of() {
  std::array<std::pair<std::string_view, E>, N> words;
  for (std::size_t i = 0; i < N; ++i) {
    words[i] = {to_string(static_cast<E>(i)), static_cast<E>(i)};
  }
  return words;
}

const auto kOrders = words_of<Order, 9>();
const auto kMerges = words_of<Merge, 4>();
const auto kShuffles = words_of<Shuffle, 4>();
constexpr std::array<std::pair<std::string_view, SubmitOrder>, 2> kSubmits{
    {{"plan", SubmitOrder::plan}, {"reverse", SubmitOrder::reverse}}};
constexpr std::array<std::pair<std::string_view, OpenBy>, 2> kOpenBy{
    {{"path", OpenBy::path}, {"handle", OpenBy::handle}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kNextEpoch{
    {{"during", false}, {"after", true}}};
constexpr std::array<std::pair<std::string_view, CacheState>, 5> kCaches{
    {{"cold", CacheState::cold},
     {"warm", CacheState::warm},
     {"keep", CacheState::keep},
     {"drop-1", CacheState::drop_pages},
     {"drop-2", CacheState::drop_inodes}}};
constexpr std::array<std::pair<std::string_view, CopyKind>, 4> kCopies{
    {{"none", CopyKind::none},
     {"host", CopyKind::host},
     {"emulated", CopyKind::emulated},
     {"cuda", CopyKind::cuda}}};
constexpr std::array<std::pair<std::string_view, Staging>, 4> kStagings{
    {{"pinned", Staging::pinned},
     {"pageable", Staging::pageable},
     {"register", Staging::register_each},
     {"per-batch", Staging::per_batch}}};
constexpr std::array<std::pair<std::string_view, ConsumerKind>, 5> kConsumers{
    {{"none", ConsumerKind::none},
     {"emulated", ConsumerKind::emulated},
     {"cuda", ConsumerKind::cuda},
     {"cuda-memory", ConsumerKind::cuda_memory},
     {"gemm", ConsumerKind::gemm}}};

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
struct Range {
  std::uint64_t least, most;
};

Result<> set_count(std::uint32_t& target, std::string_view text, Range range) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n < range.least || n > range.most) {
    return usage_error(fmt::format("'{}' is not between {} and {}", text, range.least, range.most));
  }
  target = static_cast<std::uint32_t>(n);
  return {};
}

Result<> set_bytes(Bytes& target, std::string_view text, Range range) {
  BLKSWEEP_TRY(const Bytes b, parse_bytes(text));
  if (b.n < range.least || b.n > range.most) {
    return usage_error(fmt::format("'{}' is not between {} and {}", text,
                                   format_bytes({range.least}), format_bytes({range.most})));
  }
  target = b;
  return {};
}

Result<> set_rate(CellSettings& c, std::string_view text) {
  BLKSWEEP_TRY(const Bytes rate, parse_rate(text));
  if (rate.n == 0) {
    return usage_error(fmt::format("'{}': a link moves more than nothing", text));
  }
  c.copy_tuning.bandwidth = rate;
  return {};
}

Result<> set_relative(RelativeSize& target, std::string_view text) {
  BLKSWEEP_TRY(target, parse_relative(text));
  return {};
}

Result<> set_arm(CellSettings& c, std::string_view text) {
  if (text.empty() || text.size() > 32 || !std::ranges::all_of(text, [](unsigned char ch) {
        return std::isalnum(ch) != 0 || ch == '_' || ch == '.';
      })) {
    return usage_error(fmt::format("'{}' is not a short name of letters, digits, _ and .", text));
  }
  c.arm = text;
  return {};
}

Result<> set_share(DepthShare& target, std::string_view text) {
  if (text.ends_with('%')) {
    RelativeSize share;
    if (!set_relative(share, text)) {
      return usage_error(fmt::format("'{}' is not a share of the depth such as 25%", text));
    }
    target = {0, share.percent};
    return {};
  }
  target.percent = 0;
  return set_count(target.reads, text, {1, 4096});
}

std::string share_word(const DepthShare& share) {
  return share.percent > 0 ? fmt::format("{}%", share.percent) : std::to_string(share.reads);
}

Result<> set_horizon(CellSettings& c, std::string_view text) {
  Bytes horizon;
  BLKSWEEP_CHECK(set_bytes(horizon, text, {0, kGiB}));
  c.merge_horizon = horizon;
  return {};
}

std::string relative_word(const RelativeSize& size) {
  return size.percent > 0 ? fmt::format("{}%", size.percent) : bytes_word(size.bytes);
}

Result<> set_lookahead(CellSettings& c, std::string_view text) {
  if (text == "auto") {
    c.lookahead.reset();
    return {};
  }
  RelativeSize lookahead;
  BLKSWEEP_CHECK(set_relative(lookahead, text));
  c.lookahead = lookahead;
  return {};
}

const std::array kOwnOptions{
    CellOption{"order", "lba random path directory inode recorded reverse, and below",
               [](CellSettings& c, std::string_view t) { return set_word(c.order, t, kOrders); },
               [](const CellSettings& c) { return word_of(c.order, kOrders); }},
    CellOption{"chunk", "of chunked, elevator: 4MiB; --lookahead of elevator [auto]",
               [](CellSettings& c, std::string_view t) {
                 return set_bytes(c.chunk, t, {1, kGiB << 10});
               },
               [](const CellSettings& c) { return bytes_word(c.chunk); }},
    CellOption{
        "lookahead", "", set_lookahead,
        [](const CellSettings& c) { return c.lookahead ? relative_word(*c.lookahead) : "auto"; }},
    CellOption{"sort-window", "sort by LBA within windows of so many bytes (or % of all)",
               [](CellSettings& c, std::string_view t) { return set_relative(c.sort_window, t); },
               [](const CellSettings& c) { return relative_word(c.sort_window); }},
    CellOption{"merge", "none file kernel (groups of --merge-batch) device [none]",
               [](CellSettings& c, std::string_view t) { return set_word(c.merge, t, kMerges); },
               [](const CellSettings& c) { return word_of(c.merge, kMerges); }},
    CellOption{"merge-gap", "gaps bridged, 64KiB; --merge-max 1MiB; --merge-horizon 4MiB",
               [](CellSettings& c, std::string_view t) {
                 return set_bytes(c.merge_gap, t, {0, kGiB});
               },
               [](const CellSettings& c) { return bytes_word(c.merge_gap); }},
    CellOption{"merge-max", "",
               [](CellSettings& c, std::string_view t) {
                 return set_bytes(c.merge_max, t, {kPageBytes, kGiB});
               },
               [](const CellSettings& c) { return bytes_word(c.merge_max); }},
    CellOption{"merge-horizon", "", set_horizon,
               [](const CellSettings& c) { return bytes_word(horizon_of(c)); }},
    CellOption{"merge-batch", "",
               [](CellSettings& c, std::string_view t) { return set_share(c.merge_batch, t); },
               [](const CellSettings& c) { return share_word(c.merge_batch); }},
    CellOption{
        "shuffle", "none buffer reservoir full; default none",
        [](CellSettings& c, std::string_view t) { return set_word(c.shuffle, t, kShuffles); },
        [](const CellSettings& c) { return word_of(c.shuffle, kShuffles); }},
    CellOption{"window", "bytes, % of data [64MiB or as needed]; --drain, --hold",
               [](CellSettings& c, std::string_view t) { return set_relative(c.window, t); },
               [](const CellSettings& c) { return relative_word(c.window); }},
    CellOption{"hold", "",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.hold, t, {0, kMostHold});
               },
               [](const CellSettings& c) { return std::to_string(c.hold); }},
    CellOption{"drain", "",
               [](CellSettings& c, std::string_view t) { return set_relative(c.drain, t); },
               [](const CellSettings& c) { return relative_word(c.drain); }},
    CellOption{"depth", "reads in flight, 32; --refill: then; --submit: plan reverse",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.depth, t, {1, 4096});
               },
               [](const CellSettings& c) { return std::to_string(c.depth); }},
    CellOption{"refill", "",
               [](CellSettings& c, std::string_view t) { return set_share(c.refill, t); },
               [](const CellSettings& c) { return share_word(c.refill); }},
    CellOption{"submit", "",
               [](CellSettings& c, std::string_view t) { return set_word(c.submit, t, kSubmits); },
               [](const CellSettings& c) { return word_of(c.submit, kSubmits); }},
    CellOption{"openers", "open files ahead, 1; 0: reader does; --open-by: path handle",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.openers, t, {0, 64});
               },
               [](const CellSettings& c) { return std::to_string(c.openers); }},
    CellOption{"open-by", "",
               [](CellSettings& c, std::string_view t) { return set_word(c.open_by, t, kOpenBy); },
               [](const CellSettings& c) { return word_of(c.open_by, kOpenBy); }},
    CellOption{"batch", "samples, 256; --prefetch: batches ahead, 2 (of each worker)",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.batch, t, {1, 1U << 30});
               },
               [](const CellSettings& c) { return std::to_string(c.batch); }},
    CellOption{"prefetch", "",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.prefetch, t, {0, 1U << 20});
               },
               [](const CellSettings& c) { return std::to_string(c.prefetch); }},
    CellOption{"decode-threads", "",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.decode_threads, t, {0, 256});
               },
               [](const CellSettings& c) { return std::to_string(c.decode_threads); }},
    CellOption{"copy", "none host emulated cuda; default none",
               [](CellSettings& c, std::string_view t) { return set_word(c.copy, t, kCopies); },
               [](const CellSettings& c) { return word_of(c.copy, kCopies); }},
    CellOption{"copy-bandwidth", "of the emulated link; default 25GB/s; --copy-latency, 10us",
               [](CellSettings& c, std::string_view t) { return set_rate(c, t); },
               [](const CellSettings& c) { return bytes_word(c.copy_tuning.bandwidth) + "/s"; }},
    CellOption{
        "copy-latency", "",
        [](CellSettings& c, std::string_view t) -> Result<> {
          BLKSWEEP_TRY(c.copy_tuning.latency, parse_duration(t));
          return {};
        },
        [](const CellSettings& c) { return fmt::format("{}ns", c.copy_tuning.latency.count()); }},
    CellOption{"staging", "pinned pageable per-batch register (cuda only) [pinned]",
               [](CellSettings& c, std::string_view t) {
                 return set_word(c.copy_tuning.staging, t, kStagings);
               },
               [](const CellSettings& c) { return word_of(c.copy_tuning.staging, kStagings); }},
    CellOption{"copy-streams", "copies side by side, 1; --device-slots, 2; --device-index, 0",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.copy_tuning.streams, t, {1, 32});
               },
               [](const CellSettings& c) { return std::to_string(c.copy_tuning.streams); }},
    CellOption{"device-slots", "",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.copy_tuning.slots, t, {1, 1024});
               },
               [](const CellSettings& c) { return std::to_string(c.copy_tuning.slots); }},
    CellOption{"device-index", "",
               [](CellSettings& c, std::string_view t) -> Result<> {
                 BLKSWEEP_CHECK(set_count(c.device_index, t, {0, 1024}));
                 c.node.gpu = c.device_index;
                 return {};
               },
               [](const CellSettings& c) { return std::to_string(c.device_index); }},
    CellOption{
        "consumer", "none emulated cuda cuda-memory gemm [--compute: emulated]",
        [](CellSettings& c, std::string_view t) { return set_word(c.consumer, t, kConsumers); },
        [](const CellSettings& c) { return word_of(c.consumer, kConsumers); }},
    CellOption{"compute", "per batch: 12ms lognormal:12ms:0.5 64:8ms/256:20ms table:F",
               [](CellSettings& c, std::string_view t) -> Result<> {
                 BLKSWEEP_TRY(c.compute, parse_compute_time(t));
                 return {};
               },
               [](const CellSettings& c) { return to_string(c.compute); }},
    CellOption{"cache", "at the start: cold warm keep, drop-1 drop-2 of warm [keep]",
               [](CellSettings& c, std::string_view t) { return set_word(c.cache, t, kCaches); },
               [](const CellSettings& c) { return word_of(c.cache, kCaches); }},
    CellOption{"arm", "A/A test: a,b runs each cell once per name, to see noise",
               [](CellSettings& c, std::string_view t) { return set_arm(c, t); },
               [](const CellSettings& c) { return c.arm.empty() ? "-" : c.arm; }},
    CellOption{"epochs", "passes in a run, 1; --next-epoch: read during after [during]",
               [](CellSettings& c, std::string_view t) {
                 return set_count(c.epochs, t, {1, 1000});
               },
               [](const CellSettings& c) { return std::to_string(c.epochs); }},
    CellOption{
        "next-epoch", "",
        [](CellSettings& c, std::string_view t) { return set_word(c.epochs_apart, t, kNextEpoch); },
        [](const CellSettings& c) { return word_of(c.epochs_apart, kNextEpoch); }},
};

Result<> check_staging(const CellSettings& c) {
  const Staging asked = c.copy_tuning.staging;
  if (has_staging(c.copy, asked)) {
    return {};
  }
  std::vector<std::string_view> there;
  for (const auto& [name, staging] : kStagings) {
    if (has_staging(c.copy, staging)) {
      there.push_back(name);
    }
  }
  return usage_error(
      fmt::format("--staging {}: --copy {} has only {}; all of them need --copy cuda",
                  word_of(asked, kStagings), word_of(c.copy, kCopies), joined(there, ", ")));
}

}  // namespace

Result<> check_cell(const CellSettings& c) {
  BLKSWEEP_CHECK(check_reader(c));
  BLKSWEEP_CHECK(check_staging(c));
  if (c.consumer != ConsumerKind::none && c.compute.mean.count() == 0) {
    return usage_error(
        fmt::format("--consumer {}: say how long a batch takes with --compute, such as 12ms",
                    word_of(c.consumer, kConsumers)));
  }
  return {};
}

std::span<const CellOption> cell_options() {
  static const std::vector<CellOption> all = [] {
    std::vector<CellOption> options(reader_options().begin(), reader_options().end());
    options.insert(options.end(), engine_options().begin(), engine_options().end());
    options.insert(options.end(), kOwnOptions.begin(), kOwnOptions.end());
    options.insert(options.end(), peer_options().begin(), peer_options().end());
    options.insert(options.end(), node_options().begin(), node_options().end());
    return options;
  }();
  return all;
}

}  // namespace blksweep
