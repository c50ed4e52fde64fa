// What tests say to the stand-in for libcuda.so.1, and ask of it: functions that it exports beside
// the driver's (found with dlsym, see support/standin.h).
//
// The stand-in is a GPU that is strict where a real one is silent. What a program does that the
// driver would forgive, hide or turn into wrong data is a complaint: it goes to stderr and the
// process aborts, or with "keep=1" it is kept for standin_complaints().
//
// Settings are "key=value,key=value", from STANDIN_GPU when the library is loaded and from
// standin_set() later:
//   drift=1e-4 offset=5000000     its clock: gains on CLOCK_MONOTONIC by so much; begins so many ns
//   later link=20 pageable_link=5       GB/s of its copy engine, from pinned and from pageable
//   memory copy_latency=2000 launch=3000 kernel_overhead=2000     ns of each copy, each operation,
//   each kernel memory=4294967296 driver=13000 devices=1 capability=90 batch=0 cuMemcpyBatchAsync
//   is refused host_pointers=0               registered memory has other addresses on the GPU
//   pageable=1                    large copies from pageable memory are meant: no complaint
//   mig=1                         it is a MIG instance of a GPU
//   cupti_shift=50000             CUPTI puts kernels so many ns later than they were
//   keep=1                        complaints are kept
//   fail=CALL:N:ERROR[:sticky]    the Nth use of CALL from now ends with ERROR; CALL may be
//   "kernel"
//                                 (the Nth that runs); sticky: everything after it, too
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// What a copy (0) or kernel (1) really did, on CLOCK_MONOTONIC.
struct StandinSpan {
  int kernel;
  std::int64_t begin_ns, end_ns;
};

void standin_set(const char* text);
// As when the library was loaded: settings, failures to come, complaints, what ran.
void standin_reset();
// Those since the last call, one a line; valid until the next.
const char* standin_complaints();
// Copies what ran since the last reset, oldest first, up to `room`; returns how many there are.
std::size_t standin_spans(StandinSpan* to, std::size_t room);
// CLOCK_MONOTONIC when an event (CUevent) passed.
std::int64_t standin_event_ns(void* event);
}
