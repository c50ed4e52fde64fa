#include "store/export/json.h"

#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

#include "store/schema/cache_columns.h"
#include "store/schema/request_columns.h"
#include "store/schema/run_columns.h"
#include "store/summary/ceilings.h"
#include "store/summary/decode_bound.h"

namespace blksweep {
namespace {

Json json_of(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
template <class T>
Json json_of(const T& x) {
  return Json(x);
}
template <class T>
Json json_of(const UnsignedText<T>& x) {
  return Json(x.n);
}
template <class T>
Json json_of(const Maybe<T>& x) {
  return x ? json_of(*x) : Json(nullptr);
}

// A visitor of run_columns.h that makes each column a key.
struct Keys {
  Json& object;
  template <class T>
  void operator()(std::string_view name, const T& field) {
    object[std::string(name)] = json_of(field);
  }
};

Json setting(const std::string& text) {
  if (text == "true" || text == "false") {
    return text == "true";
  }
  if (text == "-") {  // means nothing in this cell
    return nullptr;
  }
  std::uint64_t n = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, n);
  const bool canonical = text == "0" || !text.starts_with('0');
  return !text.empty() && ec == std::errc{} && rest == end && canonical ? Json(n) : Json(text);
}

Json rate_json(std::uint64_t amount, std::int64_t ns) {
  return ns > 0 ? Json(static_cast<double>(amount) * 1e9 / static_cast<double>(ns)) : Json(nullptr);
}

Json failed_json(const std::vector<FailedSample>& failed) {
  Json list = Json::array();
  for (const FailedSample& f : failed) {
    list.push_back({{"path", f.path}, {"error", f.error}});
  }
  return list;
}

// The keys that design.md promises, in its order.
Json promised(const CellRecord& cell, const RunRecord& r) {
  const bool probed = r.probe.has_value();
  Json out;
  out["cell"] = cell_json(cell);
  out["repeat"] = r.repeat;
  out["seed"] = r.seed;
  out["samples"] = r.samples;
  out["missing_samples"] = r.missing_samples;
  out["wrong_samples"] = json_of(r.wrong_samples);
  out["bytes"] = r.bytes;
  out["device_bytes"] = json_of(r.device_bytes);
  out["epoch_ns"] = r.epoch_ns;
  out["first_batch_ns"] = json_of(r.first_batch_ns);
  out["samples_per_s"] = rate_json(r.samples, r.epoch_ns);
  out["cpu_ns"] = r.cpu_ns;
  out["requests_issued"] = probed ? Json(r.probe->requests) : Json(nullptr);
  out["depth_mean"] = probed ? json_of(r.probe->depth_mean) : Json(nullptr);
  out["resident_before"] = json_of(r.resident_before);
  out["utilisation"] = json_of(r.utilisation);
  out["emission_hash"] = r.emission_hash;
  out["shuffle_quality"] = quality_json(r.quality);
  out["fio_ratio"] = r.fio ? json_of(r.fio->ratio) : Json(nullptr);
  out["incomplete"] = r.incomplete;
  out["warnings"] = r.warnings;
  out["refill"] = json_of(r.refill);
  out["requests_twin"] = r.fio ? json_of(r.fio->requests) : Json(nullptr);
  out["fio_plain_ratio"] = r.fio_plain ? json_of(r.fio_plain->ratio) : Json(nullptr);
  out["peers"] = Json::array();
  return out;
}

Json node_json(const std::vector<NodeSettingRecord>& settings) {
  Json list = Json::array();
  for (const NodeSettingRecord& s : settings) {
    each_node_setting_column(s, Keys{list.emplace_back(Json::object())});
  }
  return list;
}

Json account_json(const AccountRecord& a) {
  Json out;
  each_account_column(a, Keys{out});
  out["ideal_share"] = a.wall_ns > 0
                           ? Json(static_cast<double>(a.ideal_ns) / static_cast<double>(a.wall_ns))
                           : Json(nullptr);
  out["lanes"] = Json::array();
  for (const LaneRecord& lane : a.lanes) {
    Json& row = out["lanes"].emplace_back(Json::object());
    each_account_lane_column(lane, Keys{row});
    row["stalls"] = Json::object();
    for (const auto& [cause, ns] : lane.stalls) {
      row["stalls"][cause] = ns;
    }
  }
  out["phases"] = Json::object();
  for (const auto& [phase, ns] : a.phases) {
    out["phases"][phase] = ns;
  }
  return out;
}

template <class T, class Each>
Json object_or_null(const Maybe<T>& record, Each each) {
  if (!record) {
    return nullptr;
  }
  Json out;
  each(*record, Keys{out});
  return out;
}

Json share_json(const Maybe<std::int64_t>& part, const Maybe<std::int64_t>& whole) {
  return part && whole.value_or(0) > 0
             ? Json(static_cast<double>(*part) / static_cast<double>(*whole))
             : Json(nullptr);
}

Json overlap_json(const RunRecord& run) {
  Json out;
  each_overlap_column(*run.overlap, Keys{out});
  out["hidden_share"] = share_json(run.overlap->both_ns, run.overlap->transfer_ns);
  out["exposed_share"] = share_json(run.overlap->exposed_ns, run.epoch_ns);
  out["bytes_per_s"] = run.overlap->bytes && run.overlap->transfer_ns
                           ? rate_json(*run.overlap->bytes, *run.overlap->transfer_ns)
                           : Json(nullptr);
  return out;
}

bool is_peer(const Json& run) {
  const auto peer = run["cell"].find("peer");
  return peer != run["cell"].end() && !peer->is_null();
}

Json peer_json(const Json& ours, const Json& peer) {
  const Json& cell = peer["cell"];
  const bool whole = !ours["incomplete"].get<bool>() && ours["samples_per_s"].is_number();
  const double theirs = peer["samples_per_s"].get<double>();
  return {{"name", cell["peer"]},
          {"workers", cell["peer-workers"]},
          {"prefetch", cell["peer-prefetch"]},
          {"samples_per_s", theirs},
          {"ratio", whole && theirs > 0 ? Json(ours["samples_per_s"].get<double>() / theirs)
                                        : Json(nullptr)}};
}

}  // namespace

Json orders_json(const std::vector<OrderRecord>& orders) {
  Json list = Json::array();
  for (const OrderRecord& o : orders) {
    each_order_column(o, Keys{list.emplace_back(Json::object())});
  }
  return list;
}

Json page_cache_json(const Maybe<CacheRecord>& cache) {
  Json out = object_or_null(cache, [](auto& r, Keys k) { each_page_cache_column(r, k); });
  if (cache) {
    out["files"] = Json::array();
    for (const CacheFileRecord& f : cache->files) {
      each_page_cache_file_column(f, Keys{out["files"].emplace_back(Json::object())});
    }
  }
  return out;
}

Json attribution_json(const Maybe<AttributionRecord>& attribution) {
  if (!attribution) {
    return nullptr;
  }
  Json out = Json::object();
  for (const RequestClassRecord& c : attribution->classes) {
    out[c.kind] = {{"requests", json_of(c.requests)}, {"bytes", json_of(c.bytes)}};
    if (c.kind == kUnattributed) {
      out["unattributed"] = json_of(c.requests);
    }
  }
  out["files"] = out["folders"] = Json::array();
  for (const RequestPathRecord& p : attribution->paths) {
    Json& row = out[p.kind + "s"].emplace_back(Json::object());
    each_request_path_column(p, Keys{row});
    row.erase("kind");
  }
  out["extents"] = Json::array();
  for (const RequestExtentRecord& e : attribution->extents) {
    each_request_extent_column(e, Keys{out["extents"].emplace_back(Json::object())});
  }
  out["latency"] = Json::array();
  for (const RequestLatencyRecord& l : attribution->latency) {
    each_request_latency_column(l, Keys{out["latency"].emplace_back(Json::object())});
  }
  return out;
}

Json quality_json(const QualityRecord& q) {
  return {{"displacement", json_of(q.displacement)},
          {"rank_decorrelation", json_of(q.rank_decorrelation)},
          {"neighbours_broken", json_of(q.neighbours_broken)},
          {"label_mix", json_of(q.label_mix)},
          {"rank_decorrelation_vs_read", json_of(q.rank_decorrelation_vs_read)}};
}

Json cell_json(const CellRecord& cell) {
  Json out = Json::object();
  for (const auto& [name, text] : cell.settings) {
    out[name] = setting(text);
  }
  return out;
}

Json run_json(const CellRecord& cell, const RunRecord& run) {
  Json out = promised(cell, run);
  Json columns;
  each_run_column(run, Keys{columns});
  for (const auto& [name, field] : columns.items()) {
    if (!out.contains(name) && !name.starts_with("quality_")) {
      out[name] = field;
    }
  }
  out["bytes_per_s"] = rate_json(run.bytes, run.epoch_ns);
  out["decode_bound"] = run.decode.wait ? Json(is_decode_bound(*run.decode.wait)) : Json(nullptr);
  out["probe"] = object_or_null(run.probe, [](auto& r, Keys k) { each_probe_column(r, k); });
  if (run.probe) {
    out["probe"]["order"] = orders_json(run.probe->order);
  }
  out["page_cache"] = page_cache_json(run.page_cache);
  out["attribution"] = run.probe ? attribution_json(run.probe->attribution) : Json(nullptr);
  out["fio"] = object_or_null(run.fio, [](auto& r, Keys k) { each_fio_column(r, k); });
  out["fio_plain"] = object_or_null(run.fio_plain, [](auto& r, Keys k) { each_fio_column(r, k); });
  out["prediction"] =
      object_or_null(run.prediction, [](auto& r, Keys k) { each_prediction_column(r, k); });
  out["account"] = run.account ? account_json(*run.account) : Json(nullptr);
  out["copy_cost"] =
      object_or_null(run.copy_cost, [](auto& r, Keys k) { each_copy_cost_column(r, k); });
  out["overlap"] = run.overlap ? overlap_json(run) : Json(nullptr);
  out["device_clock"] =
      object_or_null(run.device_clock, [](auto& r, Keys k) { each_device_clock_column(r, k); });
  out["accelerator"] =
      object_or_null(run.accelerator, [](auto& r, Keys k) { each_accelerator_column(r, k); });
  out["node"] = node_json(run.node);
  out["noise"] = object_or_null(run.noise, [](auto& r, Keys k) { each_noise_column(r, k); });
  out["limit_use"] =
      object_or_null(run.limit_use, [](auto& r, Keys k) { each_limit_use_column(r, k); });
  out["failed"] = failed_json(run.failed);
  return out;
}

void add_peers(Json& runs) {
  using Round = std::pair<std::string, std::uint32_t>;  // session, repeat
  const auto round_of = [](const Json& r) {
    return Round{json_line(r["session_id"]), r["repeat"].get<std::uint32_t>()};
  };
  std::map<Round, std::vector<const Json*>> rounds;
  for (const Json& run : runs) {
    if (is_peer(run) && !run["incomplete"].get<bool>() && run["samples_per_s"].is_number()) {
      rounds[round_of(run)].push_back(&run);
    }
  }
  for (Json& run : runs) {
    const auto found = is_peer(run) ? rounds.end() : rounds.find(round_of(run));
    for (const Json* peer : found == rounds.end() ? std::vector<const Json*>{} : found->second) {
      run["peers"].push_back(peer_json(run, *peer));
    }
  }
}

Json host_json(const HostRecord& host) {
  Json out;
  each_host_column(host, Keys{out});
  out["device_label"] = host.device_label;
  out["queue"] = Json::object();
  for (const auto& [name, text] : host.queue) {
    out["queue"][name] = text;
  }
  out["layers"] = Json::array();
  for (const LayerFactRecord& l : host.layers) {
    each_layer_fact_column(l, Keys{out["layers"].emplace_back(Json::object())});
  }
  return out;
}

Json stopping_json(const Maybe<StoppingRecord>& stopping) {
  return object_or_null(stopping, [](const auto& s, auto f) { each_stopping_column(s, f); });
}

Json ceiling_json(const CeilingRecord& ceiling) {
  Json out;
  each_ceiling_column(ceiling, Keys{out});
  return out;
}

Json ceiling_figures_json(const std::vector<CeilingRecord>& ceilings) {
  Json out = Json::object();
  for (const CeilingFigure& f : ceiling_figures(ceilings)) {
    out[f.kind] = {{"rounds", f.rounds},
                   {"bytes_per_s", f.median},
                   {"least", f.least},
                   {"greatest", f.greatest},
                   {"reads_per_s", f.reads_per_s},
                   {"samples_per_byte", or_null(f.samples_per_byte)}};
  }
  return out;
}

}  // namespace blksweep
