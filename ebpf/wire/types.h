/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Fixed-width types and the size check for headers that kernel side (C) and user side (C++) share.
 */
#ifndef BLKSWEEP_WIRE_TYPES_H
#define BLKSWEEP_WIRE_TYPES_H

#ifdef __cplusplus
#include <linux/types.h>
#define BLKSWEEP_WIRE_ASSERT(cond) static_assert(cond)
#else
/* <linux/types.h> does not compile with -target bpf without the headers of one architecture. */
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
#define BLKSWEEP_WIRE_ASSERT(cond) _Static_assert(cond, #cond)
#endif

#endif
