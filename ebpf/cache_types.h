/* SPDX-License-Identifier: GPL-2.0-only */
/* As core_types.h, for programs that look at the page cache: the fields that they read, relocated
 * at load. */
#ifndef BLKSWEEP_CACHE_TYPES_H
#define BLKSWEEP_CACHE_TYPES_H

#include "wire/types.h"

#define __VMLINUX_H__ /* for bpf_tracing.h: registers by the kernel's names */

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef _Bool bool;

enum { false, true };

enum {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_ANY = 0,
  BPF_F_MMAPABLE = 1 << 10,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct shrinker {
  void* private_data;
};

struct super_block {
  __u32 s_dev;
  struct shrinker* s_shrink;
};

/* Before 6.7. */
struct super_block___around_its_shrinker {
  struct shrinker s_shrink;
};

struct inode {
  struct super_block* i_sb;
  unsigned long i_ino;
};

struct xfs_inode {
  struct inode i_vnode;
};

struct address_space {
  struct inode* host;
};

struct file_ra_state {
  unsigned int size;
};

struct folio {
  struct address_space* mapping;
  unsigned long index;
  unsigned long _flags_1;
  unsigned char _folio_order;
};

/* Before folios (5.16). */
struct page___before_folio {
  struct address_space* mapping;
  unsigned long index;
};

enum pageflags {
  PG_head,
};

#pragma clang attribute pop

#endif
