/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read-ahead: who asks for it, and the windows that the kernel opens (6.18: mm/readahead.c). A
 * window of large folios that the kernel cannot fill goes on as one of small ones: the rest of it
 * is told once more, by the same thread, and is no window of its own. Included by cache_probe.bpf.c
 * alone.
 */
struct window {
  __u64 file;       /* its first word */
  __u64 begin, end; /* pages */
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, CACHE_PROBE_STALLS);
  __type(key, __u32); /* thread */
  __type(value, struct window);
} large_windows SEC(".maps");

static __always_inline const struct cache_probe_file* watched(struct inode* inode) {
  return shared.enabled ? file_of(inode) : NULL;
}

static __always_inline int ask(struct inode* inode, __u64* counter) {
  __u32 thread = bpf_get_current_pid_tgid();

  if (!watched(inode)) return 0;
  bpf_map_delete_elem(&large_windows, &thread);
  __sync_fetch_and_add(counter, 1);
  return 0;
}

static __always_inline void open_window(const struct cache_probe_file* file, __u64 begin,
                                        __u64 pages) {
  __u64 end = begin + pages < file->pages ? begin + pages : file->pages;

  if (begin >= end) return;
  __sync_fetch_and_add(&shared.counts.windows, 1);
  __sync_fetch_and_add(&shared.counts.window_pages, end - begin);
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(on_readahead_sync, struct inode* inode) {
  return ask(inode, &shared.counts.readahead_sync);
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(on_readahead_async, struct inode* inode) {
  return ask(inode, &shared.counts.readahead_async);
}

SEC("tp_btf/page_cache_ra_order")
int BPF_PROG(on_large_window, struct inode* inode, unsigned long index,
             struct file_ra_state* readahead) {
  __u32 thread = bpf_get_current_pid_tgid();
  const struct cache_probe_file* file = watched(inode);
  struct window window = {};

  if (!file) return 0;
  window.file = file->first_word;
  window.begin = index;
  window.end = index + BPF_CORE_READ(readahead, size);
  open_window(file, index, window.end - index);
  bpf_map_update_elem(&large_windows, &thread, &window, BPF_ANY);
  return 0;
}

SEC("tp_btf/page_cache_ra_unbounded")
int BPF_PROG(on_window, struct inode* inode, unsigned long index, unsigned long pages) {
  __u32 thread = bpf_get_current_pid_tgid();
  const struct cache_probe_file* file = watched(inode);
  struct window* large;

  if (!file) return 0;
  large = bpf_map_lookup_elem(&large_windows, &thread);
  if (large && large->file == file->first_word && index >= large->begin && index < large->end) {
    bpf_map_delete_elem(&large_windows, &thread);
    return 0;
  }
  open_window(file, index, pages);
  return 0;
}
