// The columns of request_order, as run_columns.h has those of the others.
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

}  // namespace blksweep
