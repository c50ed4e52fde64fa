// The scalar columns of the tables run, probe, fio ..., named once for writing and for reading.
//
// each_*_column(record, f) calls f(column name, field) in the order of the columns; `record` is
// const for writing. Fields that are a text in the database but a number here come as UnsignedText.
#pragma once

#include <cstdint>

#include "store/records.h"

namespace blksweep {

// SQLite's integers are signed; a seed uses all 64 bits.
template <class T>
struct UnsignedText {
  T& n;
};
template <class T>
UnsignedText(T&) -> UnsignedText<T>;  // clang 14 (fuzzers, clang-tidy) does not find this itself

template <class Run, class F>
void each_run_column(Run& r, F&& f) {
  f("session_id", r.session_id);
  f("repeat", r.repeat);
  f("seed", UnsignedText{r.seed});
  f("started_unix_ns", r.started_unix_ns);
  f("begin_ns", r.begin_ns);
  f("epoch_ns", r.epoch_ns);
  f("plan_ns", r.plan_ns);
  f("first_batch_ns", r.first_batch_ns);
  f("startup_ns", r.startup_ns);
  f("peer_reads", r.peer_reads);
  f("decoders", r.decode.decoders);
  f("decode_wait", r.decode.wait);
  f("decode_hash", r.decode.hash);
  f("samples", r.samples);
  f("missing_samples", r.missing_samples);
  f("wrong_samples", r.wrong_samples);
  f("bytes", r.bytes);
  f("reads_submitted", r.reads_submitted);
  f("read_bytes", r.read_bytes);
  f("gap_bytes", r.gap_bytes);
  f("seeks", r.seeks);
  f("io_errors", r.io_errors);
  f("short_reads", r.short_reads);
  f("device_fallbacks", r.device_fallbacks);
  f("staged_reads", r.staged_reads);
  f("device_bytes", r.device_bytes);
  f("device_reads", r.device_reads);
  f("own_read_bytes", r.own_read_bytes);
  f("others_read_bytes", r.others_read_bytes);
  f("device_bytes_expected", r.device_bytes_expected);
  f("inodes_held", r.inodes_held);
  f("cpu_ns", r.cpu_ns);
  f("resident_before", r.resident_before);
  f("resident_after", r.resident_after);
  f("utilisation", r.utilisation);
  f("addresses", r.addresses);
  f("layout", r.layout);
  f("address_check_ns", r.address_check_ns);
  f("checked_pieces", r.checked_pieces);
  f("checked_bytes", r.checked_bytes);
  f("checked_wrong", r.checked_wrong);
  f("window_peak_bytes", r.window_peak_bytes);
  f("arena_bytes", r.arena_bytes);
  f("refill", r.refill);
  f("submit_batch", r.submit_batch);
  f("horizon_bytes", r.horizon_bytes);
  f("groups_cut", r.groups_cut);
  f("pair_position", r.pair_position);
  f("engine_features", r.engine_features);
  f("engine_refused", r.engine_refused);
  f("submit_ns", r.engine.submit_ns);
  f("submit_blocked_ns", r.engine.submit_blocked_ns);
  f("minor_faults", r.engine.minor_faults);
  f("major_faults", r.engine.major_faults);
  f("answered_at_once", r.engine.answered_at_once);
  f("hinted_bytes", r.engine.hinted_bytes);
  f("emission_hash", r.emission_hash);
  f("quality_displacement", r.quality.displacement);
  f("quality_rank_decorrelation", r.quality.rank_decorrelation);
  f("quality_neighbours_broken", r.quality.neighbours_broken);
  f("quality_label_mix", r.quality.label_mix);
  f("quality_rank_decorrelation_vs_read", r.quality.rank_decorrelation_vs_read);
  f("incomplete", r.incomplete);
  f("incomplete_reason", r.incomplete_reason);
}

template <class Probe, class F>
void each_probe_column(Probe& p, F&& f) {
  f("requests", p.requests);
  f("bytes", p.bytes);
  f("plug_merges", p.plug_merges);
  f("scheduler_merges", p.scheduler_merges);
  f("requeues", p.requeues);
  f("splits", p.splits);
  f("punted", p.punted);
  f("healed", p.healed);
  f("healed_ns", p.healed_ns);
  f("lost_events", p.lost_events);
  f("depth_mean", p.depth_mean);
  f("stat_difference", p.stat_difference);
  f("in_plan", p.in_plan);
  f("plan_order", p.plan_order);
}

template <class Noise, class F>
void each_noise_column(Noise& n, F&& f) {
  f("steal_ns", n.steal_ns);
  f("cpu_pressure_ns", n.cpu_pressure_ns);
  f("io_pressure_ns", n.io_pressure_ns);
  f("memory_pressure_ns", n.memory_pressure_ns);
  f("throttled_ns", n.throttled_ns);
  f("thermal_throttles", n.thermal_throttles);
  f("cpu_khz", n.cpu_khz);
  f("spin_before_wall_ns", n.spin_before_wall_ns);
  f("spin_before_cpu_ns", n.spin_before_cpu_ns);
  f("spin_after_wall_ns", n.spin_after_wall_ns);
  f("spin_after_cpu_ns", n.spin_after_cpu_ns);
}

template <class Fio, class F>
void each_fio_column(Fio& x, F&& f) {
  f("arm", x.arm);
  f("version", x.version);
  f("command", x.command);
  f("job", x.job);
  f("position", x.position);
  f("resident_before", x.resident_before);
  f("read_bytes", x.read_bytes);
  f("planned_bytes", x.planned_bytes);
  f("bytes_per_s", x.bytes_per_s);
  f("reads_per_s", x.reads_per_s);
  f("runtime_ns", x.runtime_ns);
  f("cpu_ns", x.cpu_ns);
  f("requests", x.requests);
  f("device_bytes", x.device_bytes);
  f("probe_requests", x.probe_requests);
  f("requests_reason", x.requests_reason);
  f("ratio", x.ratio);
  f("ratio_reason", x.ratio_reason);
}

template <class Prediction, class F>
void each_prediction_column(Prediction& p, F&& f) {
  f("model", p.model);
  f("model_hash", p.model_hash);
  f("epoch_ns", p.epoch_ns);
  f("first_batch_ns", p.first_batch_ns);
  f("requests", p.requests);
  f("depth_mean", p.depth_mean);
  f("error", p.error);
}

template <class Setting, class F>
void each_node_setting_column(Setting& s, F&& f) {
  f("name", s.name);
  f("asked", s.asked);
  f("got", s.got);
  f("before", s.before);
}

template <class Use, class F>
void each_limit_use_column(Use& u, F&& f) {
  f("cache_peak_bytes", u.cache_peak_bytes);
  f("memory_peak_bytes", u.memory_peak_bytes);
  f("limit_hits", u.limit_hits);
}

template <class Account, class F>
void each_account_column(Account& a, F&& f) {
  f("wall_ns", a.wall_ns);
  f("union_ns", a.union_ns);
  f("overlap_ns", a.overlap_ns);
  f("ideal_ns", a.ideal_ns);
  f("longest_lane", a.longest_lane);
  f("batch_life_ns", a.batch_life_ns);
}

template <class Cost, class F>
void each_copy_cost_column(Cost& c, F&& f) {
  f("parts", c.parts);
  f("bytes", c.bytes);
  f("cpu_ns", c.cpu_ns);
}

template <class Overlap, class F>
void each_overlap_column(Overlap& o, F&& f) {
  f("transfer_ns", o.transfer_ns);
  f("kernel_ns", o.kernel_ns);
  f("both_ns", o.both_ns);
  f("exposed_ns", o.exposed_ns);
  f("idle_ns", o.idle_ns);
  f("bytes", o.bytes);
  f("hidden_bytes", o.hidden_bytes);
  f("slices", o.slices);
  f("asked_ns", o.asked_ns);
  f("fed", o.fed);
  f("fed_gap_ns", o.fed_gap_ns);
  f("fed_gap_most_ns", o.fed_gap_most_ns);
}

template <class Clock, class F>
void each_device_clock_column(Clock& c, F&& f) {
  f("offset_ns", c.offset_ns);
  f("drift", c.drift);
  f("drift_error", c.drift_error);
  f("error_ns", c.error_ns);
  f("clamped_ns", c.clamped_ns);
  f("anchors", c.anchors);
  f("cost_ns", c.cost_ns);
}

template <class Accelerator, class F>
void each_accelerator_column(Accelerator& a, F&& f) {
  f("name", a.name);
  f("uuid", a.uuid);
  f("pci", a.pci);
  f("numa_node", a.numa_node);
  f("disk_numa_node", a.disk_numa_node);
  f("link_generation", a.link_generation);
  f("link_generation_most", a.link_generation_most);
  f("link_width", a.link_width);
  f("link_width_most", a.link_width_most);
}

template <class LaneRow, class F>
void each_account_lane_column(LaneRow& l, F&& f) {
  f("lane", l.lane);
  f("busy_ns", l.busy_ns);
  f("hidden_ns", l.hidden_ns);
  f("exposed_ns", l.exposed_ns);
}

template <class Host, class F>
void each_host_column(Host& h, F&& f) {
  f("kernel", h.kernel);
  f("cpu", h.cpu);
  f("hostname", h.hostname);
  f("cpus", h.cpus);
  f("memory_bytes", h.memory_bytes);
  f("device", h.device);
  f("device_model", h.device_model);
  f("filesystem", h.filesystem);
  f("mount_options", h.mount_options);
  f("scheduler", h.scheduler);
  f("rotational", h.rotational);
  f("cgroup", h.cgroup);
  f("gpu", h.gpu);
  f("tool_version", h.tool_version);
  f("git_revision", h.git_revision);
  f("argv", h.argv);
}

template <class Fact, class F>
void each_layer_fact_column(Fact& l, F&& f) {
  f("disk", l.disk);
  f("name", l.name);
  f("value", l.value);
}

template <class Ceiling, class F>
void each_ceiling_column(Ceiling& c, F&& f) {
  f("round", c.round);
  f("started_unix_ns", c.started_unix_ns);
  f("kind", c.kind);
  f("request_bytes", c.request_bytes);
  f("depth", c.depth);
  f("bytes", c.bytes);
  f("reads", c.reads);
  f("elapsed_ns", c.elapsed_ns);
  f("bytes_per_s", c.bytes_per_s);
  f("reads_per_s", c.reads_per_s);
  f("samples_per_byte", c.samples_per_byte);
}

template <class Stopping, class F>
void each_stopping_column(Stopping& s, F&& f) {
  f("precision", s.precision);
  f("pilot", s.pilot);
  f("repeats_max", s.repeats_max);
  f("time_limit_ns", s.time_limit_ns);
  f("rounds", s.rounds);
  f("intervals", s.intervals);
  f("reached", s.reached);
  f("half_width", s.half_width);
  f("widest", s.widest);
  f("reason", s.reason);
}

template <class Trace, class F>
void each_trace_column(Trace& t, F&& f) {
  f("trace", t.trace);
  f("trace_kind", t.trace_kind);
  f("requests", t.requests);
  f("reads", t.reads);
  f("footprint_bytes", t.footprint_bytes);
  f("duration_ns", t.duration_ns);
  f("gap_variation", t.gap_variation);
  f("sequential", t.sequential);
  f("miss_ratio_error", t.miss_ratio_error);
  f("timing", t.timing);
  f("document", t.document);
  f("started_unix_ns", t.started_unix_ns);
  f("hostname", t.hostname);
  f("kernel", t.kernel);
  f("tool_version", t.tool_version);
  f("git_revision", t.git_revision);
  f("argv", t.argv);
}

template <class Replay, class F>
void each_replay_column(Replay& r, F&& f) {
  f("key", r.key);
  f("trace", r.trace);
  f("trace_kind", r.trace_kind);
  f("target", r.target);
  f("disk", r.disk);
  f("timing", r.timing);
  f("addresses", r.addresses);
  f("verdict", r.verdict);
  f("reason", r.reason);
  f("shared", r.shared);
  f("speed", r.speed);
  f("depth", r.depth);
  f("depth_mean", r.depth_mean);
  f("requests", r.requests);
  f("bytes", r.bytes);
  f("writes", r.writes);
  f("left_out", r.left_out);
  f("failed", r.failed);
  f("length_ns", r.length_ns);
  f("late_p50_ns", r.late_p50_ns);
  f("late_p99_ns", r.late_p99_ns);
  f("late_p999_ns", r.late_p999_ns);
  f("late_max_ns", r.late_max_ns);
  f("tool_p50_ns", r.tool_p50_ns);
  f("tool_p99_ns", r.tool_p99_ns);
  f("tool_p999_ns", r.tool_p999_ns);
  f("tool_max_ns", r.tool_max_ns);
  f("device_p99_ns", r.device_p99_ns);
  f("fio_version", r.fio_version);
  f("fio_p50_ns", r.fio_p50_ns);
  f("fio_p99_ns", r.fio_p99_ns);
  f("document", r.document);
  f("started_unix_ns", r.started_unix_ns);
  f("interrupted", r.interrupted);
  f("hostname", r.hostname);
  f("kernel", r.kernel);
  f("tool_version", r.tool_version);
  f("git_revision", r.git_revision);
  f("argv", r.argv);
}

template <class Map, class F>
void each_map_column(Map& m, F&& f) {
  f("device", m.map.device);
  f("device_model", m.map.device_model);
  f("kernel", m.map.kernel);
  f("hostname", m.hostname);
  f("size_bytes", m.map.size);
  f("rotational", m.map.rotational);
  f("started_unix_ns", m.map.started_unix_ns);
  f("seed", UnsignedText{m.map.seed});
  f("seconds", m.seconds);
  f("interrupted", m.map.interrupted);
  f("left_out_bytes", m.map.left_out);
  f("left_out_by", m.map.left_out_by);
  f("path_ns", m.path_ns);
  f("rotation_ns", m.rotation_ns);
  f("tool_version", m.tool_version);
  f("git_revision", m.git_revision);
  f("argv", m.argv);
}

}  // namespace blksweep
