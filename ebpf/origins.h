/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a request comes from: which process made it, and what the kernel says it is for. Part of
 * block_probe.bpf.c; costs nothing where it is not asked for.
 */
#ifndef BLKSWEEP_ORIGINS_H
#define BLKSWEEP_ORIGINS_H

#define S_IFMT 0170000
#define S_IFBLK 0060000
#define PAGE_MAPPING_FLAGS 3ul

#define RQ_FLAG(rq, bit, ours) \
	(((rq)->cmd_flags >> bpf_core_enum_value(enum req_flag_bits, bit)) & 1 ? (ours) : 0)

/*
 * A request is made where its first bio is submitted, and may be issued much later by a worker of
 * the kernel: so the process is that of this moment. Bios that join it later may be of others.
 */
SEC("tp_btf/block_io_start")
int BPF_PROG(on_start, struct request *rq)
{
	struct blk_probe_slot *slot = slot_of(rq);
	__u32 process = bpf_get_current_pid_tgid() >> 32;

	if (!slot)
		return 0;
	heal(slot);
	slot->flags = (slot->flags & BLK_PROBE_FLAGS) | (process << BLK_PROBE_PROCESS_SHIFT);
	return 0;
}

static __always_inline bool is_device(struct address_space *mapping)
{
	return (BPF_CORE_READ(mapping, host, i_mode) & S_IFMT) == S_IFBLK;
}

/*
 * Buffer heads read a filesystem's own blocks into the page cache of its device, and their
 * read-ahead (inode tables of ext4) is not marked REQ_META. Memory of a process is no page cache.
 * Typed loads where the verifier takes them: each call of a helper costs more than all of them.
 */
static __always_inline bool into_device_page(struct request *rq)
{
	struct page *page = rq->bio->bi_io_vec->bv_page;
	unsigned long head = 0, mapping = 0;

	if (!page || !bpf_core_field_exists(page->mapping))
		return 0;
	bpf_core_read(&head, sizeof(head), &page->compound_head);
	if (head & 1)
		mapping = (unsigned long)BPF_CORE_READ((struct page *)(head - 1), mapping);
	else
		bpf_core_read(&mapping, sizeof(mapping), &page->mapping);
	if (!mapping || mapping & PAGE_MAPPING_FLAGS)
		return 0;
	return is_device((struct address_space *)mapping);
}

static __always_inline __u32 origin_of(struct request *rq, struct blk_probe_slot *slot)
{
	return (slot->flags & ~BLK_PROBE_FLAGS) | RQ_FLAG(rq, __REQ_META, BLK_PROBE_META) |
	       RQ_FLAG(rq, __REQ_RAHEAD, BLK_PROBE_READAHEAD) |
	       (into_device_page(rq) ? BLK_PROBE_DEVICE_PAGE : 0);
}

#endif
