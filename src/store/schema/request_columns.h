// The columns of tables of requests, as run_columns.h has those of the others.
#pragma once

#include "store/request_records.h"

namespace blksweep {

template <class Order, class F>
void each_order_column(Order& o, F&& f) {
  f("layer", o.layer);
  f("reads", o.reads);
  f("kept", o.kept);
  f("tau", o.tau);
  f("inversions", o.inversions);
  f("reversed", o.reversed);
  f("reversed_run", o.reversed_run);
  f("batches", o.batches);
  f("batches_reversed", o.batches_reversed);
  f("displaced_p50", o.displaced_p50);
  f("displaced_p99", o.displaced_p99);
  f("displaced_max", o.displaced_max);
  f("verdict", o.verdict);
}

template <class Class, class F>
void each_request_class_column(Class& c, F&& f) {
  f("kind", c.kind);
  f("requests", c.requests);
  f("bytes", c.bytes);
}

template <class Path, class F>
void each_request_path_column(Path& p, F&& f) {
  f("kind", p.kind);
  f("path", p.path);
  f("requests", p.requests);
  f("bytes", p.bytes);
  f("latency_mean_ns", p.latency_mean_ns);
}

template <class Extent, class F>
void each_request_extent_column(Extent& e, F&& f) {
  f("path", e.path);
  f("file_offset", e.file_offset);
  f("address", e.address);
  f("length", e.length);
  f("requests", e.requests);
  f("bytes", e.bytes);
  f("latency_mean_ns", e.latency_mean_ns);
}

template <class Latency, class F>
void each_request_latency_column(Latency& l, F&& f) {
  f("bytes", l.bytes);
  f("latency_ns", l.latency_ns);
  f("requests", l.requests);
}

}  // namespace blksweep
