/* SPDX-License-Identifier: GPL-2.0-only */
/* Both depths at 1 kHz, from a timer inside the kernel: summed and logged. Part of
 * block_probe.bpf.c. */
#ifndef BLKSWEEP_TICKS_H
#define BLKSWEEP_TICKS_H

static __always_inline __u32 gauge(__s64 depth) { return depth < 0 ? 0 : depth; }

static int on_tick(void* map, __u32* key, struct ticker* ticker) {
  __u32 driver = gauge(shared.driver_depth), scheduler = gauge(shared.scheduler_depth);
  struct blk_probe_sample* sample;
  __s64 entry;
  __u32 index;

  if (!shared.enabled) return 0; /* and no next tick */
  shared.driver_sum += driver;
  shared.scheduler_sum += scheduler;
  entry = log_entry(shared.sample_number++, BLK_PROBE_SAMPLE_BITS);
  index = entry;
  if (entry >= 0) {
    sample = bpf_map_lookup_elem(&samples, &index);
    if (sample) {
      sample->at_ns = bpf_ktime_get_ns();
      sample->driver_depth = driver;
      sample->scheduler_depth = scheduler;
    }
  }
  bpf_timer_start(&ticker->timer, BLK_PROBE_SAMPLE_PERIOD_NS, 0);
  return 0;
}

#endif
