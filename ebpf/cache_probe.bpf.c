// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page cache and the inodes of one data set: pages of its files that are added and evicted, inodes that are
 * loaded by the process that reads and given up by its filesystem, and reclaim by that process.
 *
 * Each page of a watched file has a bit; so it is known whether the run wants it, and whether it was there
 * before. A folio is counted with all of its pages. Events come from any CPU: bits and counts are atomic.
 * A folio is added and evicted by whoever reads or needs memory: no process is asked for but in reclaim.
 */
#include "cache_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "wire/cache_probe.h"

/* Set before load. */
const volatile __u32 filesystem = 0; /* the kernel's own device number: major << 20 | minor */
const volatile __u64 inode_maker = 0, inode_maker_bytes = 0; /* the function that makes inodes of its kind */
const volatile __u64 dentry_maker = 0, dentry_maker_bytes = 0;

struct cache_probe_shared shared = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* user space: files */
	__type(key, __u64);	/* inode */
	__type(value, struct cache_probe_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* user space: words of all files */
	__type(key, __u32);
	__type(value, struct cache_probe_word);
} words SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CACHE_PROBE_STALLS);
	__type(key, __u32); /* thread */
	__type(value, __u64); /* since */
} stalls SEC(".maps");

static __always_inline void count(__u64 *counter, __u64 n)
{
	if (n)
		__sync_fetch_and_add(counter, n);
}

static __always_inline __u64 ones(__u64 bits)
{
	bits -= (bits >> 1) & 0x5555555555555555ULL;
	bits = (bits & 0x3333333333333333ULL) + ((bits >> 2) & 0x3333333333333333ULL);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (bits * 0x0101010101010101ULL) >> 56;
}

static __always_inline __u32 device_of(struct inode *inode)
{
	return BPF_CORE_READ(inode, i_sb, s_dev);
}

/* Pages of a folio. Its order lies in a byte of its own (5.18 to 6.5), else in the second word of flags. */
static __always_inline __u64 pages_of(void *at)
{
	struct folio *folio = at;
	__u64 flags = 0;
	__u64 more = 0;
	__u8 order = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), at); /* the first word, whatever its type is called */
	if (!(flags & (1ULL << bpf_core_enum_value(enum pageflags, PG_head))))
		return 1;
	if (bpf_core_field_exists(folio->_folio_order))
		order = BPF_CORE_READ(folio, _folio_order);
	else if (bpf_core_field_exists(folio->_flags_1)) {
		more = BPF_CORE_READ(folio, _flags_1);
		order = more & 0xff;
	}
	return order < 16 ? 1ULL << order : 0;
}

struct span {
	__u64 first_word;
	__u64 begin, end; /* pages of the file's words */
};

/* 0: not one that is watched. */
static __always_inline struct cache_probe_file *file_of(struct inode *inode)
{
	__u64 number;

	if (!inode || device_of(inode) != filesystem)
		return 0;
	number = BPF_CORE_READ(inode, i_ino);
	return bpf_map_lookup_elem(&files, &number);
}

/* false: not of a file that is watched. */
static __always_inline bool place_of(void *at, struct span *span)
{
	struct folio *folio = at;
	struct page___before_folio *page = at;
	struct address_space *mapping;
	struct cache_probe_file *file;
	__u64 index;

	if (bpf_core_type_exists(struct folio)) {
		mapping = BPF_CORE_READ(folio, mapping);
		index = BPF_CORE_READ(folio, index);
	} else {
		mapping = BPF_CORE_READ(page, mapping);
		index = BPF_CORE_READ(page, index);
	}
	file = file_of(BPF_CORE_READ(mapping, host));
	if (!file || index >= file->pages)
		return false;
	span->first_word = file->first_word;
	span->begin = index;
	span->end = index + pages_of(at);
	if (span->end > file->pages)
		span->end = file->pages; /* a folio may reach beyond the end of its file */
	return true;
}

/* Bits of the n-th word of the span. */
static __always_inline __u64 bits_of(const struct span *span, __u64 n, __u64 *word)
{
	__u64 base = (span->begin & ~63ULL) + n * CACHE_PROBE_WORD_PAGES;
	__u64 from = span->begin > base ? span->begin - base : 0;
	__u64 to = span->end < base + 64 ? span->end - base : 64;

	if (span->end <= base)
		return 0;
	*word = span->first_word + base / CACHE_PROBE_WORD_PAGES;
	return (~0ULL << from) & (~0ULL >> (64 - to));
}

static __always_inline void add(struct cache_probe_word *word, __u64 bits)
{
	struct cache_probe_counts *c = &shared.counts;
	__u64 gone = __sync_fetch_and_and(&word->evicted, ~bits) & bits;

	__sync_fetch_and_or(&word->added, bits);
	if (gone)
		__sync_fetch_and_or(&word->again, gone);
	count(&c->added, ones(bits));
	count(&c->added_wanted, ones(bits & word->wanted));
	count(&c->added_again, ones(gone));
}

static __always_inline void evict(struct cache_probe_word *word, __u64 bits)
{
	__sync_fetch_and_or(&word->evicted, bits);
	count(&shared.counts.evicted, ones(bits));
}

#define FOR_WORDS_OF(at, what)                                                             \
	struct span span = {};                                                             \
	__u64 n, index = 0, bits;                                                          \
	__u32 key;                                                                         \
	struct cache_probe_word *word;                                                     \
                                                                                           \
	if (!shared.enabled || !place_of(at, &span))                                       \
		return 0;                                                                  \
	for (n = 0; n < CACHE_PROBE_MOST_WORDS; n++) {                                     \
		bits = bits_of(&span, n, &index);                                          \
		if (!bits)                                                                 \
			return 0;                                                          \
		key = index;                                                               \
		word = bpf_map_lookup_elem(&words, &key);                                  \
		if (!word)                                                                 \
			break;                                                             \
		what(word, bits);                                                          \
	}                                                                                  \
	__sync_fetch_and_add(&shared.counts.untold, 1);                                    \
	return 0

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_add, void *folio)
{
	FOR_WORDS_OF(folio, add);
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(on_evict, void *folio)
{
	FOR_WORDS_OF(folio, evict);
}

#include "inodes.h"
#include "windows.h"

static __always_inline int begin_reclaim(void)
{
	__u64 id = bpf_get_current_pid_tgid(), now;
	__u32 thread = id;

	if (!shared.enabled || shared.process != id >> 32)
		return 0;
	now = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&stalls, &thread, &now, BPF_ANY))
		__sync_fetch_and_add(&shared.counts.untold, 1);
	return 0;
}

static __always_inline int end_reclaim(__u64 pages)
{
	__u32 thread = bpf_get_current_pid_tgid();
	__u64 *since = bpf_map_lookup_elem(&stalls, &thread);

	if (!since)
		return 0;
	count(&shared.counts.reclaim_ns, bpf_ktime_get_ns() - *since);
	count(&shared.counts.reclaimed, pages);
	__sync_fetch_and_add(&shared.counts.reclaims, 1);
	bpf_map_delete_elem(&stalls, &thread);
	return 0;
}

/* For want of memory of the node, and of a cgroup. */
SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim)
{
	return begin_reclaim();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end, unsigned long pages)
{
	return end_reclaim(pages);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim)
{
	return begin_reclaim();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaim_end, unsigned long pages)
{
	return end_reclaim(pages);
}

SEC("tp_btf/mm_vmscan_kswapd_wake")
int BPF_PROG(on_kswapd)
{
	if (shared.enabled)
		__sync_fetch_and_add(&shared.counts.kswapd_wakes, 1);
	return 0;
}

/* Run once by user space at each start: events number processes as the whole machine does, and a
 * process in a namespace of its own does not know that number. */
SEC("syscall")
int tell_process(void *ctx)
{
	shared.process = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

char _license[] SEC("license") = "GPL";
