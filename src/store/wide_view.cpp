#include "store/wide_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace blksweep {
namespace {

constexpr std::array<std::string_view, 51> kSettings{"reader",        "scope",
                                                     "decode-cpu",    "read-share",
                                                     "order",         "chunk",
                                                     "sort-window",   "merge",
                                                     "merge-gap",     "merge-max",
                                                     "merge-horizon", "merge-batch",
                                                     "shuffle",       "window",
                                                     "engine",        "io",
                                                     "depth",         "refill",
                                                     "openers",       "batch",
                                                     "prefetch",      "decode-threads",
                                                     "copy",          "copy-bandwidth",
                                                     "copy-latency",  "staging",
                                                     "copy-streams",  "device-slots",
                                                     "device-index",  "consumer",
                                                     "compute",       "cache",
                                                     "arm",           "epochs",
                                                     "peer",          "peer-workers",
                                                     "peer-prefetch", "scheduler",
                                                     "nr-requests",   "read-ahead",
                                                     "memory-limit",  "bandwidth-limit",
                                                     "iops-limit",    "pin-inodes",
                                                     "pin-pages",     "bind",
                                                     "ioprio",        "order-asked",
                                                     "merge-asked",   "order-by",
                                                     "control"};

}  // namespace

std::span<const std::string_view> setting_names() { return kSettings; }

std::string wide_view_sql() {
  std::string columns, shown;
  for (const std::string_view name : kSettings) {
    std::string column(name);
    std::ranges::replace(column, '-', '_');
    shown += fmt::format("{}s.set_{}", shown.empty() ? "" : ", ", column);
    columns +=
        fmt::format(",\n    max(CASE name WHEN '{}' THEN value END) AS set_{}", name, column);
  }
  return fmt::format(R"sql(
-- One row per run with a column per setting of its cell: SELECT * FROM run_wide into pandas.
CREATE VIEW run_wide AS
  SELECT r.*, r.run_id IN (SELECT run_id FROM good_run) AS counted,
    CASE WHEN epoch_ns > 0 THEN samples * 1e9 / epoch_ns END AS samples_per_s,
    CASE WHEN epoch_ns > 0 THEN bytes * 1e9 / epoch_ns END AS bytes_per_s,
    c.experiment_id, e.hostname, e.kernel, e.device, e.device_model, e.filesystem, d.label AS disk,
    {}
  FROM run r JOIN cell c USING (cell_id) JOIN experiment e USING (experiment_id)
  LEFT JOIN disk d USING (experiment_id)
  LEFT JOIN (SELECT cell_id{}
    FROM (SELECT cell_id, name, CASE WHEN value = '-' THEN NULL
        WHEN value <> '' AND value NOT GLOB '*[^0-9]*' THEN CAST(value AS INTEGER)
        ELSE value END AS value FROM cell_setting)
    GROUP BY cell_id) s ON s.cell_id = r.cell_id;
)sql",
                     shown, columns);
}

}  // namespace blksweep
