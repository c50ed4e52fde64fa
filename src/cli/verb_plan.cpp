#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/policy_words.h"
#include "cli/verb.h"
#include "dataset/catalog_file.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace blksweep {
namespace {

constexpr const char* kFooter =
    R"(Shows what the policies would read; reads nothing. Lists are swept, one row each.

Examples:
  blksweep plan data.cat
  blksweep plan data.cat --order random,lba --merge none,kernel,device
  blksweep plan data.cat --order chunked --shuffle reservoir --window 256MiB --json)";

using Json = nlohmann::ordered_json;

struct Options {
  std::string catalog;
  std::vector<Order> orders{Order::random, Order::lba};
  std::vector<Merge> merges{Merge::none, Merge::device};
  OrderSettings order;
  MergeSettings merge;
  ShuffleSettings shuffle;
  std::uint64_t depth = 32;
  bool json = false;
};

struct Row {
  Order order;
  Merge merge;
  PlanSummary sum;
  std::uint64_t fallbacks;
  std::uint64_t batches;
  std::uint64_t gates;
  Bytes arena;
  std::int64_t plan_ns;
};

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

// Room for a full queue of the longest reads; what one read takes is bounded by the kernel.
Bytes queue_bytes(const Options& o) {
  return {o.depth * std::min(o.merge.max.n, std::uint64_t{1} << 31)};
}

// Sorting by address ahead of coalescing needs an order that is sorted by address itself.
Bytes horizon_for(Order order, const Options& o) {
  const bool sorted = order == Order::lba || order == Order::chunked || o.order.sort_window.n > 0;
  return sorted ? queue_bytes(o) : Bytes{0};
}

Result<Row> plan_row(const Catalog& catalog, const Options& o, Order order, Merge merge) {
  OrderSettings order_settings = o.order;
  order_settings.order = order;
  MergeSettings merge_settings = o.merge;
  merge_settings.merge = merge;
  merge_settings.horizon = horizon_for(order, o);
  ShuffleSettings shuffle = o.shuffle;
  shuffle.in_flight = queue_bytes(o);
  const std::int64_t start = now_ns();
  const Plan plan = make_plan(catalog, make_order(catalog, order_settings), 1, merge_settings);
  BLKSWEEP_TRY(const Schedule schedule, make_schedule(catalog, plan, shuffle));
  const std::int64_t plan_ns = now_ns() - start;
  return Row{order,
             merge,
             summarize(catalog, plan),
             plan.device_fallbacks,
             schedule.batches(),
             schedule.gates.size(),
             schedule.arena,
             plan_ns};
}

Json to_json(const Row& r) {
  return {{"order", to_string(r.order)},
          {"merge", to_string(r.merge)},
          {"reads", r.sum.reads},
          {"read_bytes", r.sum.read_bytes},
          {"sample_bytes", r.sum.sample_bytes},
          {"mean_read_bytes", ratio(r.sum.read_bytes, r.sum.reads)},
          {"seeks", r.sum.seeks},
          {"mean_seek_bytes", r.sum.mean_seek_bytes},
          {"gap_bytes", r.sum.gap_bytes},
          {"device_fallbacks", r.fallbacks},
          {"batches", r.batches},
          {"gates", r.gates},
          {"arena_bytes", r.arena.n},
          {"plan_ns", r.plan_ns}};
}

void print_header() {
  fmt::print("{:<9} {:<6} {:>11} {:>9} {:>9} {:>11} {:>9} {:>6} {:>9} {:>9} {:>8}\n", "order",
             "merge", "reads", "bytes", "mean", "seeks", "distance", "gap", "fallback", "arena",
             "planning");
}

void print_row(const Row& r) {
  const auto mean = static_cast<std::uint64_t>(ratio(r.sum.read_bytes, r.sum.reads));
  const auto seek = static_cast<std::uint64_t>(r.sum.mean_seek_bytes);
  fmt::print("{:<9} {:<6} {:>11} {:>9} {:>9} {:>11} {:>9} {:>4.1f} % {:>9} {:>9} {:>8}\n",
             to_string(r.order), to_string(r.merge), format_count(r.sum.reads),
             format_bytes({r.sum.read_bytes}), format_bytes({mean}), format_count(r.sum.seeks),
             format_bytes({seek}), 100 * ratio(r.sum.gap_bytes, r.sum.read_bytes),
             format_count(r.fallbacks), format_bytes(r.arena), format_duration(Nanos{r.plan_ns}));
}

Result<Exit> run_plan(const Options& o) {
  BLKSWEEP_TRY(const CatalogFile file, CatalogFile::open(o.catalog));
  Json rows = Json::array();
  for (const Order order : o.orders) {
    for (const Merge merge : o.merges) {
      BLKSWEEP_TRY(const Row row, plan_row(file.view(), o, order, merge));
      if (o.json) {
        rows.push_back(to_json(row));
        continue;
      }
      if (order == o.orders.front() && merge == o.merges.front()) {
        print_header();
      }
      print_row(row);
    }
  }
  if (o.json) {
    const Json j{{"catalog", o.catalog}, {"seed", o.order.seed}, {"plans", rows}};
    fmt::print("{}\n", j.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return Exit::done;
}

Result<std::uint32_t> parse_batch(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n == 0 || n > 0xFFFFFFFF) {
    return usage_error(fmt::format("'{}': between 1 and 4294967295 samples", text));
  }
  return static_cast<std::uint32_t>(n);
}

Result<std::uint64_t> parse_depth(std::string_view text) {
  BLKSWEEP_TRY(const std::uint64_t n, parse_count(text));
  if (n == 0 || n > 65536) {
    return usage_error(fmt::format("'{}': between 1 and 65536 reads", text));
  }
  return n;
}

void add_options(CLI::App* app, Options& o) {
  app->add_option("CATALOG", o.catalog, "a file that `blksweep catalog` wrote")->required();
  add_parsed(app, "--order", o.orders, parse_orders, "random,path,directory,inode,lba,chunked");
  add_parsed(app, "--merge", o.merges, parse_merges, "none,file,kernel,device");
  add_parsed(app, "--merge-gap", o.merge.gap, parse_bytes, "largest gap to read across (64KiB)");
  add_parsed(app, "--merge-max", o.merge.max, parse_bytes, "longest read (1MiB)");
  add_parsed(app, "--chunk", o.order.chunk, parse_bytes, "chunked: size of a chunk (4MiB)");
  add_parsed(app, "--sort-window", o.order.sort_window, parse_bytes,
             "sort runs of this size by LBA");
  add_parsed(app, "--shuffle", o.shuffle.shuffle, parse_shuffle, "none|buffer|reservoir|full");
  add_parsed(app, "--window", o.shuffle.window, parse_bytes, "memory of the shuffle (64MiB)");
  add_parsed(app, "--batch", o.shuffle.batch, parse_batch, "samples per batch (256)");
  add_parsed(app, "--depth", o.depth, parse_depth, "reads in flight (32)");
  app->add_option_function<std::string>(
         "--seed",
         [&o](const std::string& text) {
           const auto seed = parse_count(text);
           if (!seed) {
             throw CLI::ValidationError("--seed", seed.error().message());
           }
           o.order.seed = o.shuffle.seed = *seed;
         },
         "seed of order and shuffle (1)")
      ->type_name("");
  app->add_flag("--json", o.json, "print one JSON document");
}

}  // namespace

void add_plan(Verbs& verbs) {
  CLI::App* app = verbs.app.add_subcommand("plan", "reads, seeks and memory, without reading");
  auto o = std::make_shared<Options>();
  add_options(app, *o);
  app->footer(kFooter);
  app->callback([&verbs, o] { verbs.action = [o] { return run_plan(*o); }; });
}

}  // namespace blksweep
