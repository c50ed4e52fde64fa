/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel fields that the programs read, and nothing else: relocated at load by CO-RE, so the
 * order and the offsets here mean nothing, and no vmlinux.h has to be committed.
 */
#ifndef BLKSWEEP_CORE_TYPES_H
#define BLKSWEEP_CORE_TYPES_H

#include "wire/types.h"

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef _Bool bool;

enum {
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_F_MMAPABLE = 1 << 10,
  CLOCK_MONOTONIC = 1,
};

/* Not relocated: the verifier knows it by its name and size. */
struct bpf_timer {
  __u64 opaque[2];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
  int major;
  int first_minor;
};

struct request_queue {
  struct gendisk* disk;
};

struct blk_mq_hw_ctx {
  unsigned int queue_num;
};

struct cgroup_subsys_state {
  struct cgroup_subsys_state* parent;
  __u64 serial_nr; /* never given out again */
};

struct css_set {
  struct cgroup_subsys_state* subsys[1];
};

enum cgroup_subsys_id {
  io_cgrp_id,
};

struct blkcg {
  struct cgroup_subsys_state css;
};

struct blkcg_gq {
  struct blkcg* blkcg;
};

struct inode {
  unsigned short i_mode;
};

struct address_space {
  struct inode* host;
};

struct page {
  struct address_space* mapping;
  unsigned long compound_head;
};

/* Since 7.0: "mm: rename the 'compound_head' field in the 'struct page' to 'compound_info'". */
struct page___with_info {
  unsigned long compound_info;
};

struct bio_vec {
  struct page* bv_page;
};

struct request {
  struct request_queue* q;
  struct bio* bio;
  struct blk_mq_hw_ctx* mq_hctx;
  __u32 cmd_flags;
  int tag;
  int internal_tag;
  unsigned int __data_len;
  __u64 __sector;
  union {
    struct request* rq_next;
  };
};

struct block_device {
  struct gendisk* bd_disk;
};

struct bvec_iter {
  __u64 bi_sector;
  unsigned int bi_size;
};

struct bio {
  struct block_device* bi_bdev;
  __u32 bi_opf;
  struct bvec_iter bi_iter;
  struct bio_vec* bi_io_vec;
  struct blkcg_gq* bi_blkg;
};

enum req_flag_bits {
  __REQ_SYNC,
  __REQ_META,
  __REQ_FUA,
  __REQ_RAHEAD,
};

struct rq_list {
  struct request* head;
  struct request* tail;
};

struct blk_plug {
  struct rq_list mq_list;
};

/* Before "block: add a rq_list type" (lore.kernel.org/r/20241113152050.157179-5-hch@lst.de) the
 * list was a bare pointer to the newest request. */
struct blk_plug___before_rq_list {
  struct request* mq_list;
};

struct task_struct {
  unsigned int flags;
  struct css_set* cgroups;
  struct blk_plug* plug;
};

#pragma clang attribute pop

#endif
