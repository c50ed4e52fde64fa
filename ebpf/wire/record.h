/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the recorders put into their rings. C and C++.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, sectors are 512 bytes on the whole disk, a thread is
 * process << 32 | thread.
 */
#ifndef BLKSWEEP_WIRE_RECORD_H
#define BLKSWEEP_WIRE_RECORD_H

#include "wire/types.h"

enum record_kind {
  RECORD_ISSUE = 1, /* block_record: struct record_block */
  RECORD_COMPLETE = 2,
  RECORD_REQUEUE = 3,
  RECORD_PATH = 4, /* file_record: struct record_path */
  RECORD_READ = 5, /* file_record: struct record_read */
};

enum record_flags {
  RECORD_SYNC = 1,
  RECORD_READAHEAD = 2,
  RECORD_METADATA = 4,
  RECORD_FUA = 8,
  RECORD_INEXACT = 16, /* another may have moved the position at the same time */
};

struct record_block {
  __u32 kind;
  __u32 op; /* enum req_op */
  __u64 at_ns;
  __u64 sector;
  __u32 bytes;
  __u32 flags;
  __u64 thread;
};
BLKSWEEP_WIRE_ASSERT(sizeof(struct record_block) == 40);

/* Names of the path's parts, the last one first, each with its end byte. */
#define RECORD_PATH_BYTES 4096u
struct record_path {
  __u32 kind;
  __u32 bytes; /* of names */
  __u64 file;
  char names[RECORD_PATH_BYTES];
};

enum record_form {
  RECORD_FORM_READ = 1, /* as trace/trace_record.h has them */
  RECORD_FORM_PREAD = 2,
  RECORD_FORM_READV = 3,
  RECORD_FORM_PREADV = 4,
  RECORD_FORM_URING = 5,
  RECORD_FORM_FAULT = 6,
  RECORD_FORM_OPEN = 7, /* never told: a descriptor is new */
};

struct record_read {
  __u32 kind;
  __u16 form;
  __u16 flags;
  __u64 file; /* of a path before it */
  __u64 at_ns;
  __s64 latency_ns; /* -1: not known */
  __u64 offset;
  __u64 bytes;
  __s64 returned;
  __u64 thread;
};
BLKSWEEP_WIRE_ASSERT(sizeof(struct record_read) == 64);

#endif
