// Tracepoints of the reader, for bpftrace, perf and gdb (USDT): a nop each until somebody attaches.
//
// read_submit(read, source, offset, bytes)   handed to the engine; the rest of a short one again,
//                                            with its own offset and the bytes of all
// read_complete(read, bytes, latency_ns)     all of it is there
// read_fail(read, errno)                     a read of one piece; others are tried piece by piece
// batch_ready(batch)                         all its samples are in memory
// gate_wait(batches), gate_open(batches, waited_ns)   nothing in flight and no room: until so many
//                                            batches are consumed
// Numbers are those of the plan, from 0; source as in plan/plan.h. Used by ebpf/loader.bt.
// Source: stapprobes(3stap), sys/sdt.h of SystemTap.
#pragma once

// NOLINTBEGIN: the header's own
#include <sys/sdt.h>
// NOLINTEND
