#include "loader/loader_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "base/words.h"
#include "loader/read_ahead.h"

namespace blksweep {
namespace {

template <class Word, std::size_t N>
Result<Word> word(std::string_view option, std::string_view text, const std::array<Word, N>& all) {
  if (const auto found = find_word(text, all)) {
    return *found;
  }
  return usage_error(fmt::format("{} = \"{}\": it is one of {}", option, text, list_words(all)));
}

Result<> check_numbers(const LoaderOptions& o) {
  const bool positive = o.depth != 0U && o.batch > 0 && o.epochs > 0 && o.merge_most_bytes > 0 &&
                        o.chunk_bytes > 0 && o.window_bytes > 0 && o.window_percent >= 0;
  if (!positive) {
    return usage_error(
        "depth, batch, epochs, chunk_bytes, merge_most_bytes and "
        "window_bytes are 1 at least");
  }
  return o.hold <= kMostHold
             ? Result<>()
             : usage_error(
                   fmt::format("hold = {}: {} windows at most, or 0 for any", o.hold, kMostHold));
}

Result<> check_part(const LoaderOptions& o) {
  if (o.rank >= o.ranks) {
    return usage_error(fmt::format("rank = {} of ranks = {}: ranks count from 0", o.rank, o.ranks));
  }
  if (o.first_sample > 0 && o.epochs > 1) {
    return usage_error(fmt::format(
        "first_sample = {} with epochs = {}: the rest of an epoch is delivered alone, with "
        "epochs = 1",
        o.first_sample, o.epochs));
  }
  if (o.first_sample > 0 && o.rank_by_file) {
    return usage_error(fmt::format(
        "first_sample = {} with rank_by_file: ranks with files of their own are not equally far",
        o.first_sample));
  }
  if (o.first_sample % std::max(1U, o.ranks) != 0 && o.window_scope == "rank") {
    return usage_error(
        fmt::format("first_sample = {} with window_scope = \"rank\": it is a multiple of ranks = "
                    "{}, of as many "
                    "ranks as before",
                    o.first_sample, o.ranks));
  }
  if (o.first_epoch > std::numeric_limits<std::uint32_t>::max() - o.epochs) {
    return usage_error(fmt::format("first_epoch = {}: too many epochs", o.first_epoch));
  }
  return {};
}

}  // namespace

Result<bool> is_watched(std::string_view check) {
  if (check != "watched" && check != "every") {
    return usage_error(fmt::format("check = \"{}\": it is one of every, watched", check));
  }
  return check == "watched";
}

Result<LoaderSettings> settings_of(const LoaderOptions& o) {
  BLKSWEEP_CHECK(check_numbers(o));
  BLKSWEEP_CHECK(check_part(o));
  constexpr std::array<std::string_view, 2> kScopes{"global", "rank"};
  if (std::ranges::find(kScopes, o.window_scope) == kScopes.end()) {
    return usage_error(
        fmt::format("window_scope = \"{}\": it is one of global, rank", o.window_scope));
  }
  LoaderSettings s;
  BLKSWEEP_TRY(s.order, word("order", o.order,
                             std::array{Order::random, Order::path, Order::directory, Order::inode,
                                        Order::lba, Order::chunked, Order::recorded, Order::reverse,
                                        Order::elevator}));
  BLKSWEEP_TRY(s.merge, word("merge", o.merge,
                             std::array{Merge::none, Merge::file, Merge::kernel, Merge::device}));
  BLKSWEEP_TRY(s.shuffle,
               word("shuffle", o.shuffle,
                    std::array{Shuffle::none, Shuffle::buffer, Shuffle::reservoir, Shuffle::full}));
  BLKSWEEP_TRY(s.engine, word("engine", o.engine, kEngines));
  s.chunk = {o.chunk_bytes};
  if (o.lookahead_bytes > 0 || o.lookahead_percent > 0) {
    s.lookahead = RelativeSize{{o.lookahead_bytes}, o.lookahead_percent};
  }
  s.hold = o.hold;
  s.merge_gap = {o.merge_gap_bytes};
  s.merge_max = {o.merge_most_bytes};
  s.window = {{o.window_bytes}, o.window_percent};
  s.direct = o.direct && traits_of(s.engine).direct;
  s.depth = o.depth.value_or(kMostChosenDepth);
  s.openers = o.openers;
  s.batch = o.batch;
  s.workers = o.workers;
  s.prefetch = o.prefetch.value_or(kLeastChosenPrefetch);
  s.decode_threads = o.decode_threads;
  s.epochs = o.epochs;
  s.first_epoch = o.first_epoch;
  s.part = {o.first_sample, o.rank, o.ranks, o.rank_by_file, o.window_scope == "rank"};
  BLKSWEEP_CHECK(check_reader(s));
  return s;
}

}  // namespace blksweep
