// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every read of a regular file by a process tree: by system calls, through io_uring, and as faults
 * of mappings.
 *
 * The tree begins with the process that calls prctl(`mark`), and grows by fork. Files are found
 * through the descriptor table at each call, so that dup, fork and descriptors that were passed on
 * need no book-keeping. A file's path is told once for each struct file, before its first read.
 * What finds no room is counted; a path without room is told again at the next read. Calls that move
 * a file's bytes in other ways are counted.
 */
#include "file_types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "file_paths.h"

#define S_IFMT 0170000
#define S_IFREG 0100000
#define FAULT_PRESENT 1 /* x86: of a page that is mapped; what is copied was read before */
#define MOST_IOVECS 128
#define EBUSY 16

enum { /* include/uapi/linux/io_uring.h */
	IORING_OP_READV = 1,
	IORING_OP_READ_FIXED = 4,
	IORING_OP_READ = 22,
	IORING_OP_SPLICE = 30,
	IORING_OP_READV_FIXED = 60,
	IOSQE_BUFFER_SELECT = 1 << 5,
	IOSQE_CQE_SKIP_SUCCESS = 1 << 6,
};

/* Set before load: numbers of system calls. */
const volatile long nr_read = -1, nr_pread64 = -1, nr_readv = -1, nr_preadv = -1, nr_preadv2 = -1,
		    nr_prctl = -1, nr_open = -1, nr_openat = -1, nr_openat2 = -1,
		    nr_sendfile = -1, nr_splice = -1, nr_copy_file_range = -1, nr_io_submit = -1,
		    nr_mmap = -1, nr_mlock = -1, nr_mlock2 = -1, nr_mlockall = -1, nr_madvise = -1,
		    nr_write = -1, nr_pwrite64 = -1;
const volatile __u32 direct_flag = 0; /* O_DIRECT, which differs by architecture */
const volatile __u64 mark = 0; /* first argument of prctl */
const volatile __u64 page_bytes = 4096;

__u64 lost = 0;      /* events that the ring had no room for */
__u64 calls_lost = 0; /* reads that a map had no room for */
__u64 faults_unseen = 0; /* of memory whose mapping could not be looked at */
__u64 calls_unseen = 0; /* that may have read files, and are not told */

struct call {
	__u64 at_ns;
	__u64 file; /* its address */
	__s64 offset;
	__u64 bytes;
	__u32 form;
	__u32 flags;
	__u64 thread;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, __u8);
} tree SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u64);
	__type(value, struct call);
} requests SEC(".maps");

static __always_inline bool in_tree(void)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&tree, &process) != 0;
}

static __always_inline bool is_regular(struct file *file)
{
	return file && (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == S_IFREG;
}

static __always_inline void tell_read(struct call *call, struct file *file, __s64 returned,
				      __s64 latency_ns)
{
	struct record_read *event;
	__u64 id = id_of(file);

	event = id ? bpf_ringbuf_reserve(&ring, sizeof(*event), 0) : 0;
	if (!event) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	event->kind = RECORD_READ;
	event->form = call->form;
	event->flags = call->flags;
	event->file = id;
	event->at_ns = call->at_ns;
	event->latency_ns = latency_ns;
	event->offset = call->offset;
	event->bytes = call->bytes;
	event->returned = returned;
	event->thread = call->thread;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = 0;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

static __noinline __u64 bytes_of(struct iovec *user, __u32 count)
{
	struct iovec one = {};
	__u64 sum = 0;

	for (int i = 0; i < MOST_IOVECS && i < count; i++) {
		if (bpf_probe_read_user(&one, sizeof(one), user + i))
			break;
		sum += one.iov_len;
	}
	return sum;
}

static __always_inline __u32 form_of(long id)
{
	return id == nr_read      ? RECORD_FORM_READ
	       : id == nr_pread64 ? RECORD_FORM_PREAD
	       : id == nr_readv   ? RECORD_FORM_READV
	       : id == nr_preadv || id == nr_preadv2 ? RECORD_FORM_PREADV
	       : id == nr_openat || id == nr_openat2 || id == nr_open ? RECORD_FORM_OPEN
								      : 0;
}

/* The position is where the file stands, and moves. */
static __always_inline bool moves(struct call *call)
{
	return call->form == RECORD_FORM_READ || call->form == RECORD_FORM_READV;
}

#include "file_unseen.h"

static __always_inline int begin_call(struct call *call)
{
	__u32 thread;

	call->thread = bpf_get_current_pid_tgid();
	thread = call->thread;
	call->at_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&calls, &thread, call, BPF_ANY))
		__sync_fetch_and_add(&calls_lost, 1);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	struct call call = {.form = form_of(id)};
	struct file *file;
	__u64 length;

	if (id == nr_prctl && PT_REGS_PARM1_CORE_SYSCALL(regs) == mark) {
		__u32 process = bpf_get_current_pid_tgid() >> 32;
		__u8 one = 1;

		bpf_map_update_elem(&tree, &process, &one, BPF_ANY);
		return 0;
	}
	if (!call.form)
		return count_unseen(regs, id);
	if (!in_tree())
		return 0;
	if (call.form == RECORD_FORM_OPEN)
		return begin_call(&call);
	file = file_of(bpf_get_current_task_btf(), PT_REGS_PARM1_CORE_SYSCALL(regs));
	if (!is_regular(file))
		return 0;
	length = PT_REGS_PARM3_CORE_SYSCALL(regs);
	call.bytes = length;
	if (call.form == RECORD_FORM_READV || call.form == RECORD_FORM_PREADV) {
		call.bytes = bytes_of((struct iovec *)PT_REGS_PARM2_CORE_SYSCALL(regs), length);
		call.flags = length > MOST_IOVECS ? RECORD_INEXACT : 0;
	}
	call.offset = moves(&call) ? BPF_CORE_READ(file, f_pos)
				   : (__s64)PT_REGS_PARM4_CORE_SYSCALL(regs);
	if (call.form == RECORD_FORM_PREADV && call.offset == -1) { /* preadv2 at the position */
		call.form = RECORD_FORM_READV;
		call.offset = BPF_CORE_READ(file, f_pos);
	}
	call.file = (__u64)file;
	return begin_call(&call);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs *regs, long returned)
{
	__u32 thread = bpf_get_current_pid_tgid();
	struct call *found = bpf_map_lookup_elem(&calls, &thread), call;
	__s64 latency_ns;
	struct file *file;

	if (!found)
		return 0;
	latency_ns = bpf_ktime_get_ns() - found->at_ns;
	call = *found;
	bpf_map_delete_elem(&calls, &thread);
	if (returned < 0)
		return 0;
	if (call.form == RECORD_FORM_OPEN) {
		forget(file_of(bpf_get_current_task_btf(), returned));
		return 0;
	}
	file = (struct file *)call.file;
	if (moves(&call)) {
		__s64 after = BPF_CORE_READ(file, f_pos);

		if (after != call.offset + returned) {
			call.flags |= RECORD_INEXACT;
			call.offset = after >= returned ? after - returned : 0;
		}
	}
	tell_read(&call, file, returned, latency_ns);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_uring_submit, struct io_kiocb *req)
{
	struct io_rw *rw = (struct io_rw *)req;
	struct call call = {.form = RECORD_FORM_URING};
	__u64 key = (__u64)req;
	__u8 op = BPF_CORE_READ(req, opcode);
	__u32 flags = BPF_CORE_READ(req, flags);

	if (op == IORING_OP_SPLICE && in_tree())
		__sync_fetch_and_add(&calls_unseen, 1);
	if ((op != IORING_OP_READV && op != IORING_OP_READ && op != IORING_OP_READ_FIXED &&
	     op != IORING_OP_READV_FIXED) ||
	    !in_tree())
		return 0;
	if (flags & IOSQE_CQE_SKIP_SUCCESS) { /* ends without an event */
		__sync_fetch_and_add(&calls_unseen, 1);
		return 0;
	}
	call.bytes = BPF_CORE_READ(rw, len);
	if (op == IORING_OP_READV || op == IORING_OP_READV_FIXED)
		call.bytes = bytes_of((struct iovec *)BPF_CORE_READ(rw, addr), call.bytes);
	if (flags & IOSQE_BUFFER_SELECT) /* no more than its buffer holds, which is found later */
		call.flags |= RECORD_INEXACT;
	call.offset = BPF_CORE_READ(rw, kiocb.ki_pos);
	call.thread = bpf_get_current_pid_tgid();
	call.at_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&requests, &key, &call, BPF_ANY))
		__sync_fetch_and_add(&calls_lost, 1);
	return 0;
}

static __always_inline int uring_complete(void *req, __s32 res)
{
	__u64 key = (__u64)req;
	struct call *found = bpf_map_lookup_elem(&requests, &key), call;
	struct io_rw *rw = req;
	struct file *file;
	__s64 latency_ns;

	if (!found)
		return 0;
	latency_ns = bpf_ktime_get_ns() - found->at_ns;
	call = *found;
	bpf_map_delete_elem(&requests, &key);
	file = BPF_CORE_READ(rw, kiocb.ki_filp);
	if (res < 0 || !is_regular(file))
		return 0;
	if (call.offset == -1) { /* at the file's position, which the kernel has put here by now */
		call.offset = BPF_CORE_READ(rw, kiocb.ki_pos) - res;
		call.flags |= RECORD_INEXACT;
	}
	tell_read(&call, file, res, latency_ns);
	return 0;
}

/* Linux 6.10 and later; before, the result was an argument of its own. User space picks one. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_cqe, void *uring, void *req, struct io_uring_cqe *cqe)
{
	return uring_complete(req, BPF_CORE_READ(cqe, res));
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_result, void *uring, void *req, __u64 user_data, int res)
{
	return uring_complete(req, res);
}

/*
 * The page alone is told: what the kernel maps or reads around it is not known here. The mapping
 * cannot be looked at (EBUSY) while another thread changes the address space.
 */
static __always_inline int tell_fault(unsigned long address, unsigned long error)
{
	struct fault fault = {};
	struct call call = {.form = RECORD_FORM_FAULT, .flags = RECORD_INEXACT, .bytes = page_bytes};
	long found;

	if ((error & FAULT_PRESENT) || !in_tree())
		return 0;
	found = bpf_find_vma(bpf_get_current_task_btf(), address, on_vma, &fault, 0);
	if (found == -EBUSY)
		__sync_fetch_and_add(&faults_unseen, 1);
	if (found || !is_regular(fault.file))
		return 0;
	call.offset = (fault.pages * page_bytes + (address - fault.start)) & ~(page_bytes - 1);
	call.thread = bpf_get_current_pid_tgid();
	call.at_ns = bpf_ktime_get_ns();
	tell_read(&call, fault.file, page_bytes, -1);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return tell_fault(address, error);
}

/* The kernel copies from a mapping: write(2) of one. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_kernel_fault, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return tell_fault(address, error);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	__u8 one = 1;

	if (from != to && bpf_map_lookup_elem(&tree, &from) &&
	    bpf_map_update_elem(&tree, &to, &one, BPF_ANY))
		__sync_fetch_and_add(&calls_lost, 1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_end, struct task_struct *task)
{
	__u32 thread = task->pid, process = task->tgid;

	bpf_map_delete_elem(&calls, &thread);
	if (task->signal->live.counter == 0)
		bpf_map_delete_elem(&tree, &process);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
