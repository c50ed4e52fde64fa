/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads that io_uring could not start without waiting, and handed to a worker: a rare event, which
 * fires for nothing else. Part of block_probe.bpf.c.
 */
#ifndef BLKSWEEP_PUNTS_H
#define BLKSWEEP_PUNTS_H

/* In the submitter, or the SQPOLL thread of its ring: both are of the process. */
SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(on_punt) {
  if (shared.enabled && shared.process == bpf_get_current_pid_tgid() >> 32)
    __sync_fetch_and_add(&shared.punted, 1);
  return 0;
}

#endif
