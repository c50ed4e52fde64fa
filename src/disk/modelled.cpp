#include "disk/modelled.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "disk/disk.h"

namespace blksweep {
namespace {

constexpr double kLag = 1.2;         // of the modelled mean; the way there and back is in it
constexpr std::uint64_t kFew = 30;   // replies that have no mean worth a word
constexpr double kPlugNs = 3e5;      // a request waits for those submitted with it, at the most
constexpr double kFewWrites = 0.05;  // of the replies: what was seen are reads

}  // namespace

std::optional<ModelledReplies> modelled_replies(const std::string& disk) {
  const Registry registry;
  const auto emulated = emulated_disk(disk, registry);
  if (!emulated) {
    return std::nullopt;
  }
  const Result<std::string> text = disk_stats(registry, emulated->name);
  const Json stats = text ? parse_json(*text) : Json();
  if (!stats.is_object() || !stats.contains("latency_ns") || !stats.contains("writes")) {
    return std::nullopt;
  }
  const Json& latency = stats["latency_ns"];
  const auto replies = latency["count"].get<std::uint64_t>();
  const double mean = latency["mean"].is_number() ? latency["mean"].get<double>() : 0;
  return ModelledReplies{replies, stats["writes"].get<std::uint64_t>(),
                         mean * static_cast<double>(replies) / emulated->speedup};
}

double counted_mean_ns(const DiskStat& grown) {
  if (grown.reads == 0 || grown.read_ms == 0) {
    return 0;
  }
  // Whole milliseconds are told, so that one of them may be of what was before.
  constexpr double kMs = 1e6;
  const double mean =
      static_cast<double>(grown.read_ms - 1) * kMs / static_cast<double>(grown.reads);
  return std::max(0.0, mean - kPlugNs);
}

std::string lag_warning(const std::string& disk, const std::optional<ModelledReplies>& before,
                        const std::optional<ModelledReplies>& now, double seen_ns) {
  if (before && !now) {
    return disk +
           ": the daemon of this emulated disk did not answer at the end: whether it kept up with "
           "its model is not known";
  }
  if (!before || now->replies < before->replies + kFew) {
    return "";
  }
  const auto replies = static_cast<double>(now->replies - before->replies);
  const double modelled = (now->sum_ns - before->sum_ns) / replies;
  const auto writes = static_cast<double>(now->writes - before->writes);
  if (writes > kFewWrites * replies || !(seen_ns > kLag * modelled)) {
    return "";
  }
  return fmt::format(
      "{} took {} for a request, where its model takes {} (means): this machine did not keep up, "
      "and times are not those of the model",
      disk, format_duration(Nanos(static_cast<std::int64_t>(seen_ns))),
      format_duration(Nanos(static_cast<std::int64_t>(modelled))));
}

}  // namespace blksweep
