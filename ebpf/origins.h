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

#define PF_KTHREAD 0x00200000

/* Of the process that asks; 0: the root, in which are all threads of the kernel, too. */
static __always_inline __u64 my_group(void) {
  struct task_struct* task = (void*)bpf_get_current_task_btf();
  struct cgroup_subsys_state *css = 0, **all;
  struct css_set* set;

  if (!bpf_core_field_exists(task->cgroups) ||
      !bpf_core_enum_value_exists(enum cgroup_subsys_id, io_cgrp_id))
    return 0;
  set = BPF_CORE_READ(task, cgroups);
  all = __builtin_preserve_access_index(&set->subsys[0]);
  bpf_core_read(&css, sizeof(css), all + bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id));
  return css && BPF_CORE_READ(css, parent) ? BPF_CORE_READ(css, serial_nr) : 0;
}

/*
 * A limit of a cgroup holds bios back, and a worker of the kernel submits them when it is their
 * turn: they are of whoever is in that cgroup, which for a run is the run.
 */
static __always_inline bool was_held_back(struct request* rq) {
  struct task_struct* task = (void*)bpf_get_current_task_btf();

  if (!follow_layers || !shared.group || !(task->flags & PF_KTHREAD) ||
      !bpf_core_field_exists(rq->bio->bi_blkg))
    return 0;
  return BPF_CORE_READ(rq, bio, bi_blkg, blkcg, css.serial_nr) == shared.group;
}

/*
 * A request is made where its first bio is submitted, and may be issued much later by a worker of
 * the kernel: so the process is that of this moment. Bios that join it later may be of others.
 */
SEC("tp_btf/block_io_start")
int BPF_PROG(on_start, struct request* rq) {
  struct blk_probe_slot* slot = slot_of(rq);
  __u32 process = bpf_get_current_pid_tgid() >> 32;

  if (!slot) return 0;
  heal(slot);
  if (was_held_back(rq)) process = shared.process;
  slot->flags = (slot->flags & BLK_PROBE_FLAGS) | (process << BLK_PROBE_PROCESS_SHIFT);
  return 0;
}

static __always_inline bool is_device(struct address_space* mapping) {
  return (BPF_CORE_READ(mapping, host, i_mode) & S_IFMT) == S_IFBLK;
}

/*
 * What is behind a tail page's word, bit 0 of which is set: the address of its folio's first page,
 * or (7.0) a mask that makes it of the page's own address. All high bits of a mask are set, as of
 * no page's address.
 */
static __always_inline struct page* first_page(struct bio_vec* vec, unsigned long word) {
  unsigned long page = 0;

  if (word >> 32 != 0xffffffff) return (void*)(word - 1);
  bpf_core_read(&page, sizeof(page),
                &vec->bv_page); /* as a number: the verifier masks no pointer */
  return (void*)(page & word);
}

/*
 * Buffer heads read a filesystem's own blocks into the page cache of its device, and their
 * read-ahead (inode tables of ext4) is not marked REQ_META. Memory of a process is no page cache.
 * Typed loads where the verifier takes them: each call of a helper costs more than all of them.
 */
static __always_inline bool into_device_page(struct request* rq) {
  struct bio_vec* vec = rq->bio->bi_io_vec;
  struct page* page = vec->bv_page;
  struct page___with_info* with_info = (void*)page;
  unsigned long word = 0, mapping;

  if (!page || !bpf_core_field_exists(page->mapping)) return 0;
  if (bpf_core_field_exists(page->compound_head))
    bpf_core_read(&word, sizeof(word), &page->compound_head);
  else if (bpf_core_field_exists(with_info->compound_info))
    bpf_core_read(&word, sizeof(word), &with_info->compound_info);
  if (word & 1) page = first_page(vec, word);
  mapping = (unsigned long)BPF_CORE_READ(page, mapping);
  if (!mapping || mapping & PAGE_MAPPING_FLAGS) return 0;
  return is_device((struct address_space*)mapping);
}

static __always_inline __u32 origin_of(struct request* rq, struct blk_probe_slot* slot) {
  return (slot->flags & ~BLK_PROBE_FLAGS) | RQ_FLAG(rq, __REQ_META, BLK_PROBE_META) |
         RQ_FLAG(rq, __REQ_RAHEAD, BLK_PROBE_READAHEAD) |
         (into_device_page(rq) ? BLK_PROBE_DEVICE_PAGE : 0);
}

#endif
