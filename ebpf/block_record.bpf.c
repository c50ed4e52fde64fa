// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every request of one disk, as an event when it is issued, complete, or handed back. What finds no
 * room in the ring is counted.
 */
#include "core_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "wire/record.h"

#define REQ_OP_MASK 0xff
#define BPF_RB_NO_WAKEUP 1
#define BPF_MAP_TYPE_RINGBUF 27

/* Set before load. */
const volatile int disk_major = 0;
const volatile int disk_minor = 0;

__u32 enabled = 0;
__u64 lost = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* user space */
} ring SEC(".maps");

#define FLAG(cmd_flags, bit, ours) \
	(((cmd_flags) >> bpf_core_enum_value(enum req_flag_bits, bit)) & 1 ? (ours) : 0)

static __always_inline int tell(struct request *rq, __u32 kind)
{
	struct gendisk *disk = rq->q->disk;
	struct record_block *event;
	__u32 flags = rq->cmd_flags;

	if (!enabled || disk->first_minor != disk_minor || disk->major != disk_major)
		return 0;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	event->kind = kind;
	event->op = flags & REQ_OP_MASK;
	event->at_ns = bpf_ktime_get_ns();
	event->sector = rq->__sector;
	event->bytes = rq->__data_len;
	event->flags = FLAG(flags, __REQ_SYNC, RECORD_SYNC) |
		       FLAG(flags, __REQ_RAHEAD, RECORD_READAHEAD) |
		       FLAG(flags, __REQ_META, RECORD_METADATA) |
		       FLAG(flags, __REQ_FUA, RECORD_FUA);
	event->thread = bpf_get_current_pid_tgid();
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq)
{
	return tell(rq, RECORD_ISSUE);
}

/* A request can be complete in parts; with the last one all that was left is. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, int error, unsigned int bytes)
{
	return bytes == rq->__data_len ? tell(rq, RECORD_COMPLETE) : 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_requeue, struct request *rq)
{
	return tell(rq, RECORD_REQUEUE);
}

char LICENSE[] SEC("license") = "GPL";
