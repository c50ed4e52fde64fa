/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What cache_probe.bpf.c shares with src/probe/cache/. */
#ifndef BLKSWEEP_WIRE_CACHE_PROBE_H
#define BLKSWEEP_WIRE_CACHE_PROBE_H

#include "wire/types.h"

#define CACHE_PROBE_WORD_PAGES 64
#define CACHE_PROBE_MOST_WORDS 128 /* of one folio: 32 MiB of pages of 4 KiB */
#define CACHE_PROBE_STALLS 4096    /* threads that reclaim, or read ahead, at the same time */

/* A file that is watched: the words of its pages. */
struct cache_probe_file {
  __u64 first_word;
  __u64 pages;
};

/* 64 pages of one file. */
struct cache_probe_word {
  __u64 wanted;  /* by the run; set before it begins */
  __u64 added;   /* at least once since the start */
  __u64 evicted; /* and not added again */
  __u64 again;   /* at least once: added after it had been evicted */
};

/* Pages of watched files unless said otherwise; all of them only grow. */
struct cache_probe_counts {
  __u64 added;        /* folios count with all their pages */
  __u64 added_wanted; /* of these, that the run wants */
  __u64 added_again;  /* that had been evicted since the start */
  __u64 evicted;
  __u64 inodes_loaded;   /* by the process, or made */
  __u64 inodes_evicted;  /* of the filesystem, by whomever */
  __u64 dentries_loaded; /* by the process, of whatever filesystem */
  __u64 shrunk; /* dentries and inodes that the filesystem's shrinker gave back, for whomever */
  __u64 readahead_sync;  /* reads that asked for read-ahead because they found nothing */
  __u64 readahead_async; /* that asked for the next window because they reached the mark of one */
  __u64 windows;         /* that were opened */
  __u64 window_pages; /* of these, up to the end of the file: those that are there already, too */
  __u64 reclaims;     /* begun by threads of the process itself */
  __u64 reclaimed;    /* pages that these gave back, of whatever file */
  __u64 reclaim_ns;
  __u64 kswapd_wakes; /* of the whole node */
  __u64 untold;       /* events that could not be placed: counts are too low */
};

struct cache_probe_shared {
  __u32 enabled;
  __u32 process;
  struct cache_probe_counts counts;
};

#endif
