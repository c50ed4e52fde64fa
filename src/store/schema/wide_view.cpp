#include "store/schema/wide_view.h"

namespace blksweep {

const char* const kWideView = R"sql(
CREATE VIEW run_wide AS   -- one row per run, one column per setting of its cell; for pandas
  SELECT * FROM (
    SELECT r.*, r.run_id IN (SELECT run_id FROM good_run) AS counted,
      CASE WHEN epoch_ns > 0 THEN samples * 1e9 / epoch_ns END AS samples_per_s,
      CASE WHEN epoch_ns > 0 THEN bytes * 1e9 / epoch_ns END AS bytes_per_s,
      c.experiment_id, e.hostname, e.kernel, e.device, e.device_model, e.filesystem, d.label AS disk
    FROM run r JOIN cell c USING (cell_id) JOIN experiment e USING (experiment_id)
    LEFT JOIN disk d USING (experiment_id))
  LEFT JOIN (SELECT cell_id,
    max(CASE name WHEN 'reader' THEN value END) AS set_reader,
    max(CASE name WHEN 'scope' THEN value END) AS set_scope,
    max(CASE name WHEN 'decode-cpu' THEN value END) AS set_decode_cpu,
    max(CASE name WHEN 'read-share' THEN value END) AS set_read_share,
    max(CASE name WHEN 'order' THEN value END) AS set_order,
    max(CASE name WHEN 'chunk' THEN value END) AS set_chunk,
    max(CASE name WHEN 'lookahead' THEN value END) AS set_lookahead,
    max(CASE name WHEN 'sort-window' THEN value END) AS set_sort_window,
    max(CASE name WHEN 'merge' THEN value END) AS set_merge,
    max(CASE name WHEN 'merge-gap' THEN value END) AS set_merge_gap,
    max(CASE name WHEN 'merge-max' THEN value END) AS set_merge_max,
    max(CASE name WHEN 'merge-horizon' THEN value END) AS set_merge_horizon,
    max(CASE name WHEN 'merge-batch' THEN value END) AS set_merge_batch,
    max(CASE name WHEN 'shuffle' THEN value END) AS set_shuffle,
    max(CASE name WHEN 'window' THEN value END) AS set_window,
    max(CASE name WHEN 'engine' THEN value END) AS set_engine,
    max(CASE name WHEN 'madvise' THEN value END) AS set_madvise,
    max(CASE name WHEN 'hint' THEN value END) AS set_hint,
    max(CASE name WHEN 'hint-window' THEN value END) AS set_hint_window,
    max(CASE name WHEN 'io' THEN value END) AS set_io,
    max(CASE name WHEN 'depth' THEN value END) AS set_depth,
    max(CASE name WHEN 'refill' THEN value END) AS set_refill,
    max(CASE name WHEN 'submit' THEN value END) AS set_submit,
    max(CASE name WHEN 'openers' THEN value END) AS set_openers,
    max(CASE name WHEN 'open-by' THEN value END) AS set_open_by,
    max(CASE name WHEN 'batch' THEN value END) AS set_batch,
    max(CASE name WHEN 'prefetch' THEN value END) AS set_prefetch,
    max(CASE name WHEN 'decode-threads' THEN value END) AS set_decode_threads,
    max(CASE name WHEN 'copy' THEN value END) AS set_copy,
    max(CASE name WHEN 'copy-bandwidth' THEN value END) AS set_copy_bandwidth,
    max(CASE name WHEN 'copy-latency' THEN value END) AS set_copy_latency,
    max(CASE name WHEN 'staging' THEN value END) AS set_staging,
    max(CASE name WHEN 'copy-streams' THEN value END) AS set_copy_streams,
    max(CASE name WHEN 'device-slots' THEN value END) AS set_device_slots,
    max(CASE name WHEN 'device-index' THEN value END) AS set_device_index,
    max(CASE name WHEN 'consumer' THEN value END) AS set_consumer,
    max(CASE name WHEN 'compute' THEN value END) AS set_compute,
    max(CASE name WHEN 'cache' THEN value END) AS set_cache,
    max(CASE name WHEN 'arm' THEN value END) AS set_arm,
    max(CASE name WHEN 'epochs' THEN value END) AS set_epochs,
    max(CASE name WHEN 'peer' THEN value END) AS set_peer,
    max(CASE name WHEN 'peer-workers' THEN value END) AS set_peer_workers,
    max(CASE name WHEN 'peer-prefetch' THEN value END) AS set_peer_prefetch,
    max(CASE name WHEN 'scheduler' THEN value END) AS set_scheduler,
    max(CASE name WHEN 'nr-requests' THEN value END) AS set_nr_requests,
    max(CASE name WHEN 'nomerges' THEN value END) AS set_nomerges,
    max(CASE name WHEN 'read-ahead' THEN value END) AS set_read_ahead,
    max(CASE name WHEN 'memory-limit' THEN value END) AS set_memory_limit,
    max(CASE name WHEN 'bandwidth-limit' THEN value END) AS set_bandwidth_limit,
    max(CASE name WHEN 'iops-limit' THEN value END) AS set_iops_limit,
    max(CASE name WHEN 'pin-inodes' THEN value END) AS set_pin_inodes,
    max(CASE name WHEN 'pin-pages' THEN value END) AS set_pin_pages,
    max(CASE name WHEN 'bind' THEN value END) AS set_bind,
    max(CASE name WHEN 'ioprio' THEN value END) AS set_ioprio,
    max(CASE name WHEN 'hold' THEN value END) AS set_hold,
    max(CASE name WHEN 'drain' THEN value END) AS set_drain,
    max(CASE name WHEN 'next-epoch' THEN value END) AS set_next_epoch,
    max(CASE name WHEN 'control' THEN value END) AS set_control,
    max(CASE name WHEN 'order-asked' THEN value END) AS set_order_asked,
    max(CASE name WHEN 'merge-asked' THEN value END) AS set_merge_asked,
    max(CASE name WHEN 'order-by' THEN value END) AS set_order_by
    FROM (SELECT cell_id, name, CASE WHEN value = '-' THEN NULL
        WHEN value <> '' AND value NOT GLOB '*[^0-9]*' THEN CAST(value AS INTEGER)
        ELSE value END AS value FROM cell_setting)
    GROUP BY cell_id) USING (cell_id);
)sql";

}  // namespace blksweep
