/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of file_record.bpf.c, and in it the path of each open file, told once before its first
 * read: names are copied from the last one up to the root, over mounts.
 */
#ifndef BLKSWEEP_FILE_PATHS_H
#define BLKSWEEP_FILE_PATHS_H

#include "file_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "wire/record.h"

#define MOST_PARTS 128
#define NAME_BYTES 256

__u64 next_file = 1;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20); /* user space */
} ring SEC(".maps");

struct known {
  __u64 dentry;
  __u64 inode;
  __u64 id;
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1 << 16);
  __type(key, __u64);
  __type(value, struct known);
} files SEC(".maps");

struct scratch {
  struct record_path path;
  char room[NAME_BYTES]; /* so that a name that begins within the path ends within this */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct scratch);
} scratches SEC(".maps");

#define SB_KERNMOUNT (1UL << 22)      /* the kernel's own mount: of shared memory without a name */
#define MNT_NS_INTERNAL ((void*)-22L) /* fs/mount.h: of a mount that nobody can see */

static __always_inline struct mount* mount_of(struct vfsmount* mnt) {
  return (void*)mnt - bpf_core_field_offset(struct mount, mnt);
}

static __always_inline bool is_nameless(struct file* file) {
  return BPF_CORE_READ(file, f_inode, i_sb, s_flags) & SB_KERNMOUNT;
}

/* What is mapped through overlayfs is a file of its layer: since Linux 6.8 its own path is that
 * within the layer, and the one that was opened stands beside it. */
static __always_inline struct path* path_of(struct file* file) {
  struct mount* mount = mount_of(BPF_CORE_READ(file, f_path.mnt));
  struct backing_file* layer = (void*)file;

  if (bpf_core_field_exists(layer->user_path) && !is_nameless(file) &&
      BPF_CORE_READ(mount, mnt_ns) == MNT_NS_INTERNAL)
    return (void*)file + bpf_core_field_offset(struct backing_file, user_path);
  return (void*)file + bpf_core_field_offset(struct file, f_path);
}

struct climb {
  struct dentry* dentry;
  struct mount* mount;
  struct scratch* scratch;
  __u32 at;
  bool at_root;
};

/* One part of the path, or from the root of a mount to where it is mounted. 1: the end. */
static long climb_on(__u32 index, struct climb* c) {
  struct dentry *dentry = c->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
  struct mount* mount = c->mount;
  __u32 at = c->at;
  long n;

  if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
    c->mount = BPF_CORE_READ(mount, mnt_parent);
    c->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
    c->at_root = c->mount == mount;
    return c->at_root;
  }
  if (at >= RECORD_PATH_BYTES) return 1;
  n = bpf_probe_read_kernel_str(c->scratch->path.names + at, NAME_BYTES,
                                BPF_CORE_READ(dentry, d_name.name));
  c->at = n > 0 ? at + n : at;
  c->dentry = parent;
  return 0;
}

#define NO_PATH ~0U

/* Names from the last one up to the root; none of what has no path (shared memory). */
static __always_inline __u32 copy_names(struct path* path, struct scratch* s) {
  struct climb c = {
      .dentry = BPF_CORE_READ(path, dentry),
      .mount = mount_of(BPF_CORE_READ(path, mnt)),
      .scratch = s,
  };

  bpf_loop(MOST_PARTS, climb_on, &c, 0);
  return c.at_root ? c.at : NO_PATH;
}

static __always_inline bool tell_path(struct path* path, __u64 id) {
  __u32 zero = 0, bytes;
  struct scratch* s = bpf_map_lookup_elem(&scratches, &zero);

  if (!s) return 0;
  bytes = copy_names(path, s);
  if (bytes > RECORD_PATH_BYTES) return 0;
  s->path.kind = RECORD_PATH;
  s->path.bytes = bytes;
  s->path.file = id;
  return bpf_ringbuf_output(&ring, &s->path, __builtin_offsetof(struct record_path, names) + bytes,
                            BPF_RB_NO_WAKEUP) == 0;
}

/* 0: there is no room to tell its path. */
static __noinline __u64 id_of(struct file* file) {
  __u64 key = (__u64)file;
  struct known *found = bpf_map_lookup_elem(&files, &key), known;
  struct path* path = path_of(file);

  known.dentry = (__u64)BPF_CORE_READ(path, dentry);
  known.inode = BPF_CORE_READ(file, f_inode, i_ino);
  if (found && found->dentry == known.dentry && found->inode == known.inode) return found->id;
  known.id = __sync_fetch_and_add(&next_file, 1);
  if (!tell_path(path, known.id)) return 0;
  bpf_map_update_elem(&files, &key, &known, BPF_ANY);
  return known.id;
}

/* A new file may lie where another one was, and its name may be new. */
static __always_inline void forget(struct file* file) {
  __u64 key = (__u64)file;

  bpf_map_delete_elem(&files, &key);
}

#endif
