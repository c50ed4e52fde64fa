// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of one disk: counts, sizes, latency, merges, and how many are at the driver and in the
 * scheduler.
 *
 * Each request structure has a slot, found by hardware queue and tag, which is what the block
 * layer itself finds it by. A slot is an array element: no hash, no allocation, no lock. The events
 * of one request follow each other (it has one owner at a time), so a slot needs no atomics. An
 * event on a slot whose last completion never came heals it.
 *
 * Never polled: counters, samples and the issue log stay in maps until user space reads them.
 */
#include "core_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "buckets.h"
#include "wire/block_probe.h"

#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1 /* and a bit of all that write */
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3

/* Set before load. */
const volatile int disk_major = 0;
const volatile int disk_minor = 0;
const volatile __u32 hw_queues = 1;
const volatile __u32 slot_bits = 10; /* slots per hardware queue, power of two */
const volatile __u32 issue_bits = BLK_PROBE_ISSUE_BITS;
const volatile bool follow_layers = 0; /* bios and insertions are logged, too */
const volatile bool follow_origins = 0; /* who made each read, and what for */

struct blk_probe_shared shared = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1024); /* user space: hw_queues << slot_bits */
	__type(key, __u32);
	__type(value, struct blk_probe_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blk_probe_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << BLK_PROBE_SAMPLE_BITS);
	__type(key, __u32);
	__type(value, struct blk_probe_sample);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << BLK_PROBE_ISSUE_BITS);
	__type(key, __u32);
	__type(value, struct blk_probe_issue);
} issues SEC(".maps");

struct passed_log {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* user space: 1 << BLK_PROBE_LAYER_BITS when layers are followed */
	__type(key, __u32);
	__type(value, struct blk_probe_passed);
};

struct passed_log queued SEC(".maps"), inserted SEC(".maps");

#include "punts.h"

struct ticker {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ticker);
} tickers SEC(".maps");

static __always_inline bool wanted(struct gendisk *disk)
{
	return disk->first_minor == disk_minor && disk->major == disk_major;
}

static __always_inline bool is_read(struct request *rq)
{
	return (rq->cmd_flags & REQ_OP_MASK) == REQ_OP_READ;
}

/* NULL: not our disk, switched off, or beyond the table (counted). */
static __always_inline struct blk_probe_slot *slot_of(struct request *rq)
{
	struct blk_probe_slot *slot = 0;
	__u32 queue, tag, index;

	if (!shared.enabled || !wanted(rq->q->disk))
		return 0;
	queue = rq->mq_hctx->queue_num;
	/* With a scheduler the driver's tag comes late and goes early; its own tag stays. */
	tag = rq->internal_tag >= 0 ? rq->internal_tag : rq->tag;
	if (queue < hw_queues && !(tag >> slot_bits)) {
		index = (queue << slot_bits) | tag;
		slot = bpf_map_lookup_elem(&slots, &index);
	}
	if (!slot)
		__sync_fetch_and_add(&shared.beyond_slots, 1);
	return slot;
}

static __always_inline struct blk_probe_counts *my_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline void enter_driver(__u64 now, __s64 *depth)
{
	*depth = __sync_fetch_and_add(&shared.driver_depth, 1) + 1;
	if (*depth == 1)
		__sync_fetch_and_add(&shared.busy_ns, -now);
}

static __always_inline void leave_driver(__u64 now)
{
	if (__sync_fetch_and_add(&shared.driver_depth, -1) == 1)
		__sync_fetch_and_add(&shared.busy_ns, now);
}

static __always_inline void leave_scheduler(struct blk_probe_slot *slot)
{
	if (slot->flags & BLK_PROBE_INSERTED)
		__sync_fetch_and_add(&shared.scheduler_depth, -1);
}

static __always_inline void forget(struct blk_probe_slot *slot)
{
	slot->flags &= BLK_PROBE_SEEN;
	slot->log = 0;
}

#include "orphans.h"

/* The request that this structure carried before is done, although nobody told us. */
static __always_inline void heal(struct blk_probe_slot *slot)
{
	__u64 now;

	if (!(slot->flags & BLK_PROBE_ISSUED))
		return;
	now = bpf_ktime_get_ns();
	leave_driver(now);
	__sync_fetch_and_add(&shared.healed, 1);
	__sync_fetch_and_add(&shared.healed_ns, now - slot->issued_ns);
	forget(slot);
}

#include "origins.h"

static __always_inline void log_issue(struct request *rq, struct blk_probe_slot *slot, __u64 now)
{
	__s64 entry = log_entry(__sync_fetch_and_add(&shared.issue_number, 1), issue_bits);
	__u32 index = entry;
	struct blk_probe_issue *issue;

	slot->log = 0;
	if (entry < 0)
		return;
	issue = bpf_map_lookup_elem(&issues, &index);
	if (!issue)
		return;
	issue->at_ns = now;
	issue->sector = rq->__sector;
	issue->bytes = rq->__data_len;
	issue->origin = follow_origins ? origin_of(rq, slot) : 0;
	issue->done_ns = 0;
	slot->log = index + 1;
}

/* The log may have given the entry to a later read meanwhile: it is ours by its sector. */
static __always_inline void log_done(struct request *rq, struct blk_probe_slot *slot, __u64 now)
{
	__u32 index = slot->log - 1;
	struct blk_probe_issue *issue;

	if (!slot->log)
		return;
	issue = bpf_map_lookup_elem(&issues, &index);
	if (issue && issue->sector == rq->__sector)
		issue->done_ns = now;
}

static __always_inline void log_passed(struct passed_log *log, __u64 *number, __u64 sector,
				       __u32 bytes)
{
	__s64 entry = log_entry(__sync_fetch_and_add(number, 1), BLK_PROBE_LAYER_BITS);
	struct blk_probe_passed *passed;
	__u32 index = entry;

	if (entry < 0)
		return;
	passed = bpf_map_lookup_elem(log, &index);
	if (!passed)
		return;
	passed->at_ns = bpf_ktime_get_ns();
	passed->sector = sector;
	passed->bytes = bytes;
}

/* Every request of a queue with a scheduler has a tag of its own there, none of one without. */
static __always_inline void note_scheduler(struct request *rq)
{
	if (rq->internal_tag >= 0 && !shared.scheduled)
		shared.scheduled = 1;
	if (rq->internal_tag < 0 && !shared.unscheduled)
		shared.unscheduled = 1;
}

static __always_inline void count_read(struct request *rq, struct blk_probe_counts *c,
				       struct blk_probe_slot *slot, __s64 depth)
{
	__u64 sector = rq->__sector;
	__u32 bytes = rq->__data_len;

	c->reads++;
	c->read_bytes += bytes;
	if (sector != shared.next_sector)
		c->seeks++;
	shared.next_sector = sector + (bytes >> 9);
	c->depth[at_most(depth < 0 ? 0 : depth, BLK_PROBE_DEPTHS - 1)]++;
	c->sizes[at_most(bytes >> 12, BLK_PROBE_SIZES - 1)]++;
	note_scheduler(rq);
	log_issue(rq, slot, slot->issued_ns);
}

/* As /sys/block: a write is whatever has the bit of one and is no discard, as zeroes without data. */
static __always_inline void count_other(struct request *rq, struct blk_probe_counts *c)
{
	__u32 op = rq->cmd_flags & REQ_OP_MASK;

	c->others++;
	if (op == REQ_OP_DISCARD) {
		c->discards++;
		c->discard_bytes += rq->__data_len;
	} else if (op & REQ_OP_WRITE) {
		c->writes++;
		c->write_bytes += rq->__data_len;
	} else if (op == REQ_OP_FLUSH) {
		c->flushes++;
	}
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq)
{
	struct blk_probe_slot *slot = slot_of(rq);
	struct blk_probe_counts *c = my_counts();
	__u32 counted;
	__u64 now;
	__s64 depth;

	if (!slot || !c)
		return 0;
	heal(slot);
	leave_scheduler(slot);
	counted = slot->flags & BLK_PROBE_COUNTED;
	now = bpf_ktime_get_ns();
	slot->issued_ns = now;
	slot->flags = (slot->flags & ~BLK_PROBE_FLAGS) | BLK_PROBE_ISSUED | BLK_PROBE_COUNTED |
		      BLK_PROBE_SEEN | (is_read(rq) ? BLK_PROBE_READ : 0);
	enter_driver(now, &depth);
	if (counted)
		return 0;
	if (is_read(rq))
		count_read(rq, c, slot, depth);
	else
		count_other(rq, c);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, int error, unsigned int nr_bytes)
{
	struct blk_probe_slot *slot = slot_of(rq);
	struct blk_probe_counts *c = my_counts();
	__u64 now, spent;

	if (!slot || !c || nr_bytes < rq->__data_len)
		return 0; /* a part of it: the driver keeps the rest, or gives it back by requeue */
	leave_scheduler(slot);
	if (!(slot->flags & BLK_PROBE_ISSUED)) {
		count_orphan(rq, slot);
		forget(slot);
		return 0;
	}
	now = bpf_ktime_get_ns();
	spent = now - slot->issued_ns;
	leave_driver(now);
	c->depth_ns += spent;
	if (slot->flags & BLK_PROBE_READ) {
		c->latency[latency_bucket(spent)]++;
		c->completed++;
		if (error)
			__sync_fetch_and_add(&shared.failed, 1);
		log_done(rq, slot, now);
	}
	forget(slot);
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_requeue, struct request *rq)
{
	struct blk_probe_slot *slot = slot_of(rq);
	struct blk_probe_counts *c = my_counts();
	__u64 now;

	if (!slot || !c || !(slot->flags & BLK_PROBE_ISSUED))
		return 0;
	now = bpf_ktime_get_ns();
	leave_driver(now);
	c->requeued_ns += now - slot->issued_ns;
	slot->flags &= ~BLK_PROBE_ISSUED;
	__sync_fetch_and_add(&shared.requeues, 1);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_insert, struct request *rq)
{
	struct blk_probe_slot *slot = slot_of(rq);

	if (!slot)
		return 0;
	heal(slot);
	if (!(slot->flags & BLK_PROBE_INSERTED))
		__sync_fetch_and_add(&shared.scheduler_depth, 1);
	slot->flags |= BLK_PROBE_INSERTED;
	if (follow_layers && is_read(rq) && !(slot->flags & BLK_PROBE_COUNTED))
		log_passed(&inserted, &shared.insert_number, rq->__sector, rq->__data_len);
	return 0;
}

/* Loaded only when layers are followed. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_queue, struct bio *bio)
{
	if (shared.enabled && wanted(bio->bi_bdev->bd_disk) &&
	    (bio->bi_opf & REQ_OP_MASK) == REQ_OP_READ)
		log_passed(&queued, &shared.queue_number, bio->bi_iter.bi_sector,
			   bio->bi_iter.bi_size);
	return 0;
}

SEC("tp_btf/block_split")
int BPF_PROG(on_split, struct bio *bio, unsigned int new_sector)
{
	if (shared.enabled && wanted(bio->bi_bdev->bd_disk) &&
	    (bio->bi_opf & REQ_OP_MASK) == REQ_OP_READ)
		__sync_fetch_and_add(&shared.splits, 1);
	return 0;
}

#include "merges.h"

#include "ticks.h"

/* Run once by user space at each start. */
SEC("syscall")
int start_ticks(void *ctx)
{
	__u32 zero = 0;
	struct ticker *ticker = bpf_map_lookup_elem(&tickers, &zero);

	shared.process = bpf_get_current_pid_tgid() >> 32;
	shared.group = my_group();
	if (!ticker)
		return 1;
	bpf_timer_init(&ticker->timer, &tickers, CLOCK_MONOTONIC); /* EBUSY from the second start on */
	if (bpf_timer_set_callback(&ticker->timer, on_tick))
		return 2;
	return bpf_timer_start(&ticker->timer, BLK_PROBE_SAMPLE_PERIOD_NS, 0) ? 3 : 0;
}

char _license[] SEC("license") = "GPL";
