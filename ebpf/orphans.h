/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that were at the driver before the start: how long they stayed there since. Part of
 * block_probe.bpf.c.
 */
#ifndef BLKSWEEP_ORPHANS_H
#define BLKSWEEP_ORPHANS_H

/* While it was there the driver had something to do: what `busy_ns` has not of that time. */
static __always_inline void count_time_there(__u64 now) {
  __u64 since_start = now - shared.started_ns;
  __s64 busy = shared.busy_ns;

  if (busy < 0) busy += now; /* it goes on */
  __sync_fetch_and_add(&shared.orphan_ns, since_start);
  if ((__s64)since_start > busy) shared.orphan_busy_ns = since_start - busy;
}

/*
 * A structure that was issued before the start can be completed once without our having seen it.
 * One without data ends a flush, which another request of the same tag was.
 */
static __always_inline void count_orphan(struct request* rq, struct blk_probe_slot* slot) {
  if (slot->flags & BLK_PROBE_SEEN) {
    if (is_read(rq)) __sync_fetch_and_add(&shared.unseen_issues, 1);
    return;
  }
  slot->flags |= BLK_PROBE_SEEN;
  if (is_read(rq)) __sync_fetch_and_add(&shared.orphans, 1);
  if (rq->__data_len) count_time_there(bpf_ktime_get_ns());
}

#endif
