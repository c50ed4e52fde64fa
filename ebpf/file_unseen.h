/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that take bytes of files without a read, or fill a mapping without a fault: they are
 * counted, not told. Part of file_record.bpf.c.
 */
#ifndef BLKSWEEP_FILE_UNSEEN_H
#define BLKSWEEP_FILE_UNSEEN_H

#define MAP_LOCKED 0x2000
#define MAP_POPULATE 0x8000
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#define MLOCK_ONFAULT 1
#define MCL_ONFAULT 4

/* The file that a call other than a read takes bytes of; ~0: of none. */
static __always_inline __u32 source_of(struct pt_regs* regs, long id) {
  if (id == nr_splice || id == nr_copy_file_range) return PT_REGS_PARM1_CORE_SYSCALL(regs);
  if (id == nr_sendfile) return PT_REGS_PARM2_CORE_SYSCALL(regs);
  if (id == nr_mmap && (PT_REGS_PARM4_CORE_SYSCALL(regs) & (MAP_POPULATE | MAP_LOCKED)))
    return PT_REGS_PARM5_CORE_SYSCALL(regs);
  return ~0U;
}

struct fault {
  struct file* file;
  __u64 start;
  __u64 pages;
};

static long on_vma(struct task_struct* task, struct vm_area_struct* vma, struct fault* fault) {
  fault->file = BPF_CORE_READ(vma, vm_file);
  fault->start = BPF_CORE_READ(vma, vm_start);
  fault->pages = BPF_CORE_READ(vma, vm_pgoff);
  return 0;
}

/* Reads what is mapped, as a whole, and no fault tells of it. */
static __always_inline bool fills_mapping(struct pt_regs* regs, long id) {
  unsigned long third = PT_REGS_PARM3_CORE_SYSCALL(regs);

  return id == nr_mlock || (id == nr_mlock2 && !(third & MLOCK_ONFAULT)) ||
         (id == nr_madvise && (third == MADV_POPULATE_READ || third == MADV_POPULATE_WRITE));
}

/* Past the page cache: the kernel takes the pages that it writes without a fault. */
static __always_inline bool writes_directly(struct pt_regs* regs, long id) {
  struct file* file;

  if ((id != nr_write && id != nr_pwrite64) || !in_tree()) return 0;
  file = file_of(bpf_get_current_task_btf(), PT_REGS_PARM1_CORE_SYSCALL(regs));
  return file && (BPF_CORE_READ(file, f_flags) & direct_flag);
}

static __always_inline bool maps_regular(unsigned long address) {
  struct fault found = {};
  struct file* file;

  if (bpf_find_vma(bpf_get_current_task_btf(), address, on_vma, &found, 0) == -EBUSY) return 1;
  file = found.file;
  return is_regular(file) && !is_nameless(file);
}

static __always_inline int count_unseen(struct pt_regs* regs, long id) {
  __u32 source = source_of(regs, id);
  bool locks_all = id == nr_mlockall && !(PT_REGS_PARM1_CORE_SYSCALL(regs) & MCL_ONFAULT);
  bool fills = fills_mapping(regs, id), writes = writes_directly(regs, id);

  if ((source == ~0U && id != nr_io_submit && !locks_all && !fills && !writes) || !in_tree())
    return 0;
  if (id == nr_io_submit || locks_all ||
      (fills    ? maps_regular(PT_REGS_PARM1_CORE_SYSCALL(regs))
       : writes ? maps_regular(PT_REGS_PARM2_CORE_SYSCALL(regs))
                : is_regular(file_of(bpf_get_current_task_btf(), source))))
    __sync_fetch_and_add(&calls_unseen, 1);
  return 0;
}

#endif
