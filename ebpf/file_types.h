/* SPDX-License-Identifier: GPL-2.0-only */
/* As core_types.h, for programs that look at files: the fields that they read, relocated at load.
 */
#ifndef BLKSWEEP_FILE_TYPES_H
#define BLKSWEEP_FILE_TYPES_H

#include "wire/types.h"

#define __VMLINUX_H__ /* for bpf_tracing.h: registers by the kernel's names */

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef _Bool bool;

enum {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_RINGBUF = 27,
  BPF_ANY = 0,
  BPF_RB_NO_WAKEUP = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
  unsigned long di, si, dx, r10, r8, r9, ax, orig_ax;
#else
  unsigned long orig_x0;
#endif
};

#if defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
  __u64 regs[31];
};
#endif

struct super_block {
  unsigned long s_flags;
};

struct inode {
  unsigned short i_mode;
  struct super_block* i_sb;
  unsigned long i_ino;
};

struct qstr {
  const unsigned char* name;
};

struct dentry {
  struct qstr d_name;
  struct dentry* d_parent;
};

struct vfsmount {
  struct dentry* mnt_root;
};

struct mount {
  struct mount* mnt_parent;
  struct dentry* mnt_mountpoint;
  struct vfsmount mnt;
  void* mnt_ns;
};

struct path {
  struct vfsmount* mnt;
  struct dentry* dentry;
};

struct file {
  struct path f_path;
  struct inode* f_inode;
  long long f_pos;
  unsigned int f_flags;
};

struct backing_file {
  struct file file;
  struct path user_path;
};

struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

typedef struct {
  int counter;
} atomic_t;

struct signal_struct {
  atomic_t live;
};

struct task_struct {
  int pid;
  int tgid;
  struct files_struct* files;
  struct signal_struct* signal;
};

struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_pgoff;
  struct file* vm_file;
};

struct kiocb {
  struct file* ki_filp;
  long long ki_pos;
};

struct io_rw {
  struct kiocb kiocb;
  __u64 addr;
  __u32 len;
};

struct io_kiocb {
  __u8 opcode;
  __u32 flags; /* 64 bits from Linux 6.8 on: the lower ones */
};

struct io_uring_cqe {
  __s32 res;
};

#pragma clang attribute pop

struct iovec {
  void* iov_base;
  unsigned long iov_len;
};

#endif
