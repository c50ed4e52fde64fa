/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What block_probe.bpf.c leaves in its maps. C and C++.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, sectors are 512 bytes on the whole disk.
 */
#ifndef BLKSWEEP_WIRE_BLOCK_PROBE_H
#define BLKSWEEP_WIRE_BLOCK_PROBE_H

#include "wire/types.h"

/* Histograms; the last bucket takes everything beyond it. */
#define BLK_PROBE_DEPTHS 1025u /* bucket = depth */
#define BLK_PROBE_SIZES 1025u  /* bucket = bytes / 4096 */
#define BLK_PROBE_SUB_BITS 5u  /* latency: 32 buckets per octave, width <= 1/32 of the value */
#define BLK_PROBE_OCTAVES 40u  /* latency: up to 2^40 ns, 18 minutes */
#define BLK_PROBE_LATENCIES ((BLK_PROBE_OCTAVES - BLK_PROBE_SUB_BITS + 1u) << BLK_PROBE_SUB_BITS)

/* Thinned logs: 2^bits entries; full ones keep every 2nd, 4th ... event (see block_probe.bpf.c). */
#define BLK_PROBE_SAMPLE_BITS 19u /* depth samples: 524,288, almost 9 minutes at 1 kHz */
#define BLK_PROBE_ISSUE_BITS 17u  /* issued reads: 131,072 */
#define BLK_PROBE_LAYER_BITS 21u  /* of issues, bios and insertions, when layers are followed */

#define BLK_PROBE_SAMPLE_PERIOD_NS 1000000u

enum blk_probe_slot_flags {
  BLK_PROBE_INSERTED = 1, /* in the scheduler or a software queue */
  BLK_PROBE_ISSUED = 2,   /* at the driver */
  BLK_PROBE_COUNTED = 4,  /* issued before, came back through requeue: not a new request */
  BLK_PROBE_READ = 8,
  BLK_PROBE_SEEN = 16, /* was issued since the start: stays when the request is done */
};

/* Above the flags of a slot or of an issue: the process that made the request; 0: not known. */
#define BLK_PROBE_PROCESS_SHIFT 10u /* PID_MAX_LIMIT is 2^22 */
#define BLK_PROBE_FLAGS ((1u << BLK_PROBE_PROCESS_SHIFT) - 1u)

enum blk_probe_issue_flags {
  BLK_PROBE_META = 1,        /* REQ_META: the filesystem says that it is its own */
  BLK_PROBE_READAHEAD = 2,   /* REQ_RAHEAD: nobody has asked for it yet */
  BLK_PROBE_DEVICE_PAGE = 4, /* into the page cache of a block device */
};

/* One per request structure of the disk. */
struct blk_probe_slot {
  __u64 issued_ns;
  __u32 flags; /* and the process */
  __u32 log;   /* entry of the issue log that is its read's, plus 1; 0: none */
};
BLKSWEEP_WIRE_ASSERT(sizeof(struct blk_probe_slot) == 16);

/* Per CPU. Each field is written by one program only, so no increment is lost to an interrupt. */
struct blk_probe_counts {
  __u64 reads; /* distinct read requests issued */
  __u64 read_bytes;
  __u64 others;              /* writes, flushes, discards ... issued */
  __u64 writes, write_bytes; /* of these */
  __u64 flushes;
  __u64 discards, discard_bytes;
  __u64 seeks;       /* reads that do not begin where the read before ended */
  __u64 completed;   /* reads with a known latency */
  __u64 depth_ns;    /* sum over all completed requests of their last time at the driver */
  __u64 requeued_ns; /* the same of attempts that ended in a requeue */
  __u64 plug_merges;
  __u64 scheduler_merges;
  __u64 depth[BLK_PROBE_DEPTHS]; /* found at issue by each read, itself included */
  __u64 sizes[BLK_PROBE_SIZES];
  __u64 latency[BLK_PROBE_LATENCIES]; /* issue to completion, reads */
};
/* A per-CPU value may not be larger than 32 KiB. */
BLKSWEEP_WIRE_ASSERT(sizeof(struct blk_probe_counts) <= 32768);

struct blk_probe_sample {
  __u64 at_ns;
  __u32 driver_depth;
  __u32 scheduler_depth;
};
BLKSWEEP_WIRE_ASSERT(sizeof(struct blk_probe_sample) == 16);

struct blk_probe_issue {
  __u64 at_ns;
  __u64 sector;
  __u32 bytes;
  __u32 origin;  /* blk_probe_issue_flags and the process; 0 where origins are not followed */
  __u64 done_ns; /* completed; 0: not seen */
};
BLKSWEEP_WIRE_ASSERT(sizeof(struct blk_probe_issue) == 32);

/* A read on its way to the driver: a bio as it was submitted, or a request as it was inserted. */
struct blk_probe_passed {
  __u64 at_ns;
  __u64 sector;
  __u32 bytes;
  __u32 pad; /* always zero */
};
BLKSWEEP_WIRE_ASSERT(sizeof(struct blk_probe_passed) == 24);

/* Shared by all CPUs: what has to be one number at every moment, and rare counters. */
struct blk_probe_shared {
  __s64 driver_depth;
  __u64 issue_number; /* reads seen by the issue log */
  __u64 next_sector;  /* where the newest read ends */
  __u64 pad0[5];
  __s64 scheduler_depth;
  __u64 busy_ns; /* minus each start of a busy time, plus each end: wraps in between */
  __u64 sample_number;
  __u64 healed;
  __u64 healed_ns;     /* from their issue until they were healed: they ended somewhere in it */
  __u64 orphans;       /* reads issued before the start and completed after it */
  __u64 unseen_issues; /* reads completed without an issue that we saw, though issued since */
  __u64 requeues;
  __u64 request_merges; /* two requests of the scheduler became one */
  __u64 beyond_slots;   /* events of requests whose tag is beyond the table */
  __u64 punted;         /* of our rings: handed to a worker of io_uring */
  __u64 driver_sum;     /* both depths, summed over the ticks: sample_number of them */
  __u64 scheduler_sum;
  __u64 splits;         /* bios of reads that were too long for one request */
  __u64 queue_number;   /* bios of reads submitted; only when layers are followed */
  __u64 insert_number;  /* reads inserted; likewise */
  __u64 started_ns;     /* set by user space */
  __u64 orphan_ns;      /* since the start, of requests that were issued before it, all together */
  __u64 orphan_busy_ns; /* time in which only those were at the driver */
  __u32 enabled;
  __u32 process;     /* whose rings: that of start_ticks */
  __u64 failed;      /* reads that ended with an error */
  __u32 scheduled;   /* 1: a read was issued that had passed a scheduler */
  __u32 unscheduled; /* 1: one that had not */
  __u64 group;       /* its cgroup of block I/O; 0: the root, or not known */
};

#endif
