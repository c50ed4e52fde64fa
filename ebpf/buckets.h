/* SPDX-License-Identifier: GPL-2.0-only */
/* Arithmetic of the probe without any state: which bucket or log entry a value goes to. */
#ifndef BLKSWEEP_EBPF_BUCKETS_H
#define BLKSWEEP_EBPF_BUCKETS_H

#include <bpf/bpf_helpers.h>

#include "wire/block_probe.h"

static __always_inline __u32 log2_of(__u64 v) {
  __u32 bits = 0;

  if (v >> 32) {
    v >>= 32;
    bits += 32;
  }
  if (v >> 16) {
    v >>= 16;
    bits += 16;
  }
  if (v >> 8) {
    v >>= 8;
    bits += 8;
  }
  if (v >> 4) {
    v >>= 4;
    bits += 4;
  }
  if (v >> 2) {
    v >>= 2;
    bits += 2;
  }
  return bits + (v >> 1);
}

/* The barrier keeps clang from folding the check into an earlier value: the verifier would lose it.
 */
static __always_inline __u32 at_most(__u32 v, __u32 last) {
  barrier_var(v);
  return v < last ? v : last;
}

/* Values below 2^SUB_BITS one by one, above 2^SUB_BITS buckets per octave. */
static __always_inline __u32 latency_bucket(__u64 ns) {
  __u32 shift = 0;

  if (ns >> BLK_PROBE_SUB_BITS) shift = log2_of(ns) - BLK_PROBE_SUB_BITS;
  return at_most((shift << BLK_PROBE_SUB_BITS) + (ns >> shift), BLK_PROBE_LATENCIES - 1);
}

/*
 * Where event number n goes in a log of 2^bits entries that is thinned evenly as it fills: with
 * stride 2^k every 2^k-th event is kept. Event m * 2^k has entry rotl(m, k) in `bits` bits: that is
 * where it already is if it was kept at stride 2^(k-1), and an entry given up at this stride if
 * not. Negative: this event is left out.
 */
static __always_inline __s64 log_entry(__u64 n, __u32 bits) {
  __u64 mask = (1ull << bits) - 1, m;
  __u32 k;

  if (!(n >> bits)) return n;
  k = log2_of(n) - bits + 1;
  if (k >= bits || (n & ((1ull << k) - 1))) return -1;
  m = n >> k;
  return ((m << k) | (m >> (bits - k))) & mask;
}

#endif
