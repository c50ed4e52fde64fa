/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inodes and dentries that come into memory and go. No tracepoint tells of one that is loaded, and
 * not every kernel lets a program stand at a function: it is an allocation out of the function that
 * makes them. Included by cache_probe.bpf.c alone.
 */
SEC("tp_btf/kmem_cache_alloc")
int BPF_PROG(on_allocation, unsigned long from) {
  bool inode = from - inode_maker < inode_maker_bytes;

  if (!inode && from - dentry_maker >= dentry_maker_bytes) return 0;
  if (!shared.enabled || shared.process != bpf_get_current_pid_tgid() >> 32) return 0;
  __sync_fetch_and_add(inode ? &shared.counts.inodes_loaded : &shared.counts.dentries_loaded, 1);
  return 0;
}

static __always_inline int inode_gone(struct inode* inode) {
  if (shared.enabled && device_of(inode) == filesystem)
    __sync_fetch_and_add(&shared.counts.inodes_evicted, 1);
  return 0;
}

/* Of a module's tracepoint the verifier takes every pointer for one that may be NULL (6.12: "bpf:
 * Augment raw_tp arguments with PTR_MAYBE_NULL"). */
SEC("tp_btf/ext4_evict_inode")
int BPF_PROG(on_inode_gone, struct inode* inode) { return inode ? inode_gone(inode) : 0; }

SEC("tp_btf/xfs_destroy_inode")
int BPF_PROG(on_xfs_inode_gone, struct xfs_inode* inode) {
  return inode ? inode_gone(&inode->i_vnode) : 0;
}

SEC("tp_btf/btrfs_inode_evict")
int BPF_PROG(on_btrfs_inode_gone, struct inode* inode) { return inode ? inode_gone(inode) : 0; }

/* The superblock that a shrinker belongs to, if it is one of a superblock: no other is taken for
 * one, because its superblock names it. */
static __always_inline bool is_of_filesystem(struct shrinker* shrinker) {
  struct super_block* super;

  if (bpf_core_field_exists(shrinker->private_data)) {
    super = BPF_CORE_READ(shrinker, private_data);
    return super && BPF_CORE_READ(super, s_shrink) == shrinker &&
           BPF_CORE_READ(super, s_dev) == filesystem;
  }
  super =
      (void*)shrinker - bpf_core_field_offset(struct super_block___around_its_shrinker, s_shrink);
  return BPF_CORE_READ(super, s_dev) == filesystem;
}

SEC("tp_btf/mm_shrink_slab_end")
int BPF_PROG(on_shrunk, struct shrinker* shrinker, int node, int freed) {
  if (shared.enabled && freed > 0 && is_of_filesystem(shrinker))
    __sync_fetch_and_add(&shared.counts.shrunk, freed);
  return 0;
}
