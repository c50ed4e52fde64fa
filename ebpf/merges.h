/* SPDX-License-Identifier: GPL-2.0-only */
/* What joined what, and where: in the plug or in the scheduler. Part of block_probe.bpf.c. */
#ifndef BLKSWEEP_MERGES_H
#define BLKSWEEP_MERGES_H

/* `rq` was swallowed by its neighbour and will not be issued. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_request_merge, struct request* rq) {
  struct blk_probe_slot* slot = slot_of(rq);

  if (!slot) return 0;
  heal(slot);
  leave_scheduler(slot);
  forget(slot);
  if (is_read(rq)) __sync_fetch_and_add(&shared.request_merges, 1);
  return 0;
}

#define MOST_PLUGGED 64 /* BLK_MAX_REQUEST_COUNT, twice for several queues */

/*
 * The request of the plug list that a bio of `disk` is tried at: the newest. Where that is another
 * disk's, it is the first of this disk in the list, which is kept newest last (since there is a
 * struct rq_list) or newest first.
 */
static __always_inline struct request* tried_in_plug(struct gendisk* disk) {
  struct task_struct* task = (void*)bpf_get_current_task_btf();
  struct blk_plug* plug = task->plug;
  struct request* rq;
  int i;

  if (!plug) return 0;
  if (bpf_core_type_exists(struct rq_list)) {
    rq = plug->mq_list.tail;
    if (rq && BPF_CORE_READ(rq, q, disk) == disk) return rq;
    rq = plug->mq_list.head;
  } else {
    rq = BPF_CORE_READ((struct blk_plug___before_rq_list*)plug, mq_list);
  }
  for (i = 0; i < MOST_PLUGGED && rq; i++) {
    if (BPF_CORE_READ(rq, q, disk) == disk) return rq;
    rq = BPF_CORE_READ(rq, rq_next);
  }
  return 0;
}

/*
 * The tracepoint names the bio only. The plug list is tried first and only at one request, so the
 * bio went there exactly if that request is its neighbour on this queue.
 */
static __always_inline bool merges_in_plug(struct bio* bio) {
  struct request* rq = tried_in_plug(bio->bi_bdev->bd_disk);
  __u64 begin, end, sector = bio->bi_iter.bi_sector;

  if (!rq) return 0;
  begin = BPF_CORE_READ(rq, __sector);
  end = begin + (BPF_CORE_READ(rq, __data_len) >> 9);
  return end == sector || sector + (bio->bi_iter.bi_size >> 9) == begin;
}

static __always_inline int count_merge(struct bio* bio) {
  struct blk_probe_counts* c;

  if (!shared.enabled || !wanted(bio->bi_bdev->bd_disk)) return 0;
  if ((bio->bi_opf & REQ_OP_MASK) != REQ_OP_READ) return 0;
  c = my_counts();
  if (!c) return 0;
  if (merges_in_plug(bio))
    c->plug_merges++;
  else
    c->scheduler_merges++;
  return 0;
}

/* Both run where bios are submitted, never in an interrupt: they may share their counters. */
SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(on_backmerge, struct bio* bio) { return count_merge(bio); }

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(on_frontmerge, struct bio* bio) { return count_merge(bio); }

#endif
