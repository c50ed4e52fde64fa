// Runs a command for which one use of one system call fails, or counts the uses.
//
//   fail_call LOG PROGRAM count COMMAND...                        each use into LOG: CALL<tab>WHAT<tab>OBJECT
//   fail_call LOG PROGRAM CALL WHAT OBJECT ERRNO N COMMAND...     the N-th that fits fails; `-` fits all
//
// Of all threads and children together, in the order in which they come, but only what the file PROGRAM does itself
// and not the dynamic linker for it. seccomp hands each use to this process, so that nothing is traced: leaks are
// found as ever, signals arrive as ever. WHAT is the command of ioctl, fcntl, bpf ..., OBJECT the path or what the
// descriptor is of, each number in it as #. A process of its own serves what outlives the command (a daemon) until all
// have ended; LOG then has `gone` as its last line.
//
// exit: 99 where seccomp is refused, else the command's.
#define _GNU_SOURCE
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NONE 9
enum object { no_object, path, path_at, descriptor };

// name; the argument that says what (NONE: none); where the object is: a path in argument 0 or 1, a descriptor in 0
static const struct call {
	const char *name;
	int number, what;
	enum object object;
} calls[] = {
#define CALL(name, what, object) { #name, SYS_##name, what, object }
	CALL(openat, NONE, path_at), CALL(openat2, NONE, path_at), CALL(read, NONE, descriptor), CALL(pread64, NONE, descriptor),
	CALL(readv, NONE, descriptor), CALL(preadv, NONE, descriptor), CALL(preadv2, NONE, descriptor),
	CALL(write, NONE, descriptor), CALL(pwrite64, NONE, descriptor), CALL(writev, NONE, descriptor),
	CALL(pwritev, NONE, descriptor), CALL(getdents64, NONE, descriptor), CALL(newfstatat, NONE, path_at),
	CALL(statx, NONE, path_at), CALL(fstat, NONE, descriptor), CALL(lseek, NONE, descriptor),
	CALL(ftruncate, NONE, descriptor), CALL(fallocate, NONE, descriptor), CALL(fsync, NONE, descriptor),
	CALL(fdatasync, NONE, descriptor), CALL(syncfs, NONE, descriptor), CALL(sync_file_range, NONE, descriptor),
	CALL(mmap, 3, no_object), CALL(mremap, NONE, no_object), CALL(mprotect, NONE, no_object), CALL(madvise, 2, no_object),
	CALL(mlock, NONE, no_object), CALL(mlock2, NONE, no_object), CALL(mincore, NONE, no_object),
	CALL(ioctl, 1, descriptor), CALL(fcntl, 1, descriptor), CALL(access, NONE, path), CALL(faccessat2, NONE, path_at),
	CALL(readlink, NONE, path), CALL(readlinkat, NONE, path_at), CALL(mkdir, NONE, path), CALL(mkdirat, NONE, path_at),
	CALL(unlink, NONE, path), CALL(unlinkat, NONE, path_at), CALL(rmdir, NONE, path), CALL(rename, NONE, path),
	CALL(renameat, NONE, path_at), CALL(renameat2, NONE, path_at), CALL(link, NONE, path), CALL(linkat, NONE, path_at),
	CALL(symlink, NONE, path), CALL(symlinkat, NONE, path_at), CALL(chmod, NONE, path), CALL(fchmod, NONE, descriptor),
	CALL(fchmodat, NONE, path_at), CALL(chown, NONE, path), CALL(fchown, NONE, descriptor), CALL(utimensat, NONE, path_at),
	CALL(flock, NONE, descriptor), CALL(socket, NONE, no_object), CALL(socketpair, NONE, no_object),
	CALL(bind, NONE, descriptor), CALL(connect, NONE, descriptor), CALL(listen, NONE, descriptor),
	CALL(accept4, NONE, descriptor), CALL(sendto, NONE, descriptor), CALL(recvfrom, NONE, descriptor),
	CALL(sendmsg, NONE, descriptor), CALL(recvmsg, NONE, descriptor), CALL(setsockopt, NONE, descriptor),
	CALL(getsockopt, NONE, descriptor), CALL(pipe2, NONE, no_object), CALL(eventfd2, NONE, no_object),
	CALL(timerfd_create, NONE, no_object), CALL(timerfd_settime, NONE, no_object), CALL(epoll_create1, NONE, no_object),
	CALL(epoll_ctl, NONE, no_object), CALL(epoll_wait, NONE, no_object), CALL(epoll_pwait, NONE, no_object),
	CALL(poll, NONE, no_object), CALL(ppoll, NONE, no_object), CALL(select, NONE, no_object), CALL(pselect6, NONE, no_object),
	CALL(signalfd4, NONE, no_object), CALL(inotify_init1, NONE, no_object), CALL(inotify_add_watch, NONE, no_object),
	CALL(memfd_create, NONE, no_object), CALL(dup, NONE, descriptor), CALL(dup2, NONE, descriptor), CALL(dup3, NONE, descriptor),
	CALL(clone, NONE, no_object), CALL(clone3, NONE, no_object), CALL(fork, NONE, no_object), CALL(vfork, NONE, no_object),
	CALL(execve, NONE, path), CALL(wait4, NONE, no_object), CALL(waitid, NONE, no_object), CALL(pidfd_open, NONE, no_object),
	CALL(pidfd_send_signal, NONE, no_object), CALL(prlimit64, NONE, no_object), CALL(io_uring_setup, NONE, no_object),
	CALL(io_uring_enter, NONE, no_object), CALL(io_uring_register, 1, no_object), CALL(io_setup, NONE, no_object),
	CALL(io_submit, NONE, no_object), CALL(io_getevents, NONE, no_object), CALL(io_pgetevents, NONE, no_object),
	CALL(bpf, 0, no_object), CALL(perf_event_open, NONE, no_object), CALL(sched_setaffinity, NONE, no_object),
	CALL(sched_getaffinity, NONE, no_object), CALL(sched_setscheduler, NONE, no_object), CALL(setpriority, NONE, no_object),
	CALL(ioprio_set, NONE, no_object), CALL(ioprio_get, NONE, no_object), CALL(mbind, NONE, no_object),
	CALL(get_mempolicy, NONE, no_object), CALL(move_pages, NONE, no_object), CALL(mount, NONE, path_at),
	CALL(umount2, NONE, path), CALL(statfs, NONE, path), CALL(fstatfs, NONE, descriptor), CALL(fadvise64, NONE, descriptor),
	CALL(readahead, NONE, descriptor), { "cachestat", 451, NONE, descriptor }, CALL(getcwd, NONE, no_object),
	CALL(chdir, NONE, path), CALL(fchdir, NONE, descriptor), CALL(copy_file_range, NONE, descriptor),
	CALL(sendfile, NONE, descriptor), CALL(splice, NONE, descriptor), CALL(clock_nanosleep, NONE, no_object),
	CALL(prctl, 0, no_object), CALL(unshare, NONE, no_object), CALL(kill, NONE, no_object), CALL(truncate, NONE, path),
	CALL(stat, NONE, path), CALL(lstat, NONE, path), CALL(open, NONE, path), CALL(name_to_handle_at, NONE, path_at),
	CALL(process_madvise, NONE, no_object), CALL(munlock, NONE, no_object), CALL(munmap, NONE, no_object),
	CALL(getrandom, NONE, no_object), CALL(membarrier, NONE, no_object), CALL(setrlimit, NONE, no_object),
	CALL(msync, NONE, no_object), CALL(sysinfo, NONE, no_object), CALL(uname, NONE, no_object),
};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

struct wanted {
	const char *program, *call, *what, *object; // call: NULL to count
	int error;
	long use, seen;
};
struct use {
	const struct call *call;
	char what[32], object[512];
};

static int install(const char *only)
{
	struct sock_filter code[2 * CALLS + 8];
	struct sock_fprog program = { 0, code };
	int n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < CALLS; i++) {
		if (only && strcmp(only, calls[i].name))
			continue;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
}

static ssize_t read_proc(pid_t pid, const char *name, void *into, size_t size)
{
	char file[64];
	ssize_t got = -1;

	snprintf(file, sizeof(file), "/proc/%d/%s", pid, name);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, into, size);
		close(fd);
	}
	return got;
}

static size_t linker_size;

static int note_linker(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	for (int i = 0; strstr(info->dlpi_name, "ld-linux") && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			linker_size = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 0;
}

static int by_linker(pid_t pid, uint64_t at)
{
	ElfW(auxv_t) aux[64];
	ssize_t got = read_proc(pid, "auxv", aux, sizeof(aux));

	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*aux); i++)
		if (aux[i].a_type == AT_BASE)
			return at >= aux[i].a_un.a_val && at < aux[i].a_un.a_val + linker_size;
	return 0;
}

static int by_program(const struct seccomp_notif *request, const char *program)
{
	char link[64], exe[512];

	snprintf(link, sizeof(link), "/proc/%d/exe", request->pid);
	ssize_t length = readlink(link, exe, sizeof(exe) - 1);
	if (length < 0)
		return 0;
	exe[length] = 0;
	return !strcmp(exe, program) && !by_linker((pid_t)request->pid, request->data.instruction_pointer);
}

static void object_of(const struct seccomp_notif *request, enum object kind, char *into, size_t size)
{
	char raw[256] = "", link[64];
	int empty;

	if (kind == path || kind == path_at) {
		struct iovec here = { raw, sizeof(raw) - 1 };
		struct iovec there = { (void *)request->data.args[kind == path_at], sizeof(raw) - 1 };
		there.iov_len -= ((uint64_t)there.iov_base + there.iov_len) % 4096 < there.iov_len
		                     ? ((uint64_t)there.iov_base + there.iov_len) % 4096 : 0;
		process_vm_readv((pid_t)request->pid, &here, 1, &there, 1, 0);
	}
	empty = !raw[0];
	if (kind == descriptor || (kind == path_at && empty)) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", request->pid, (int)request->data.args[0]);
		ssize_t length = readlink(link, raw, sizeof(raw) - 1);
		raw[length > 0 ? length : 0] = 0;
	}
	size_t n = 0;
	for (const char *c = raw; *c && n + 2 < size; c++) {
		if (!isdigit((unsigned char)*c))
			into[n++] = *c == '\t' || *c == '\n' ? '?' : *c;
		else if (n == 0 || into[n - 1] != '#')
			into[n++] = '#';
	}
	into[n] = 0;
}

static struct use use_of(const struct seccomp_notif *request)
{
	struct use use = { NULL, "", "" };

	for (int i = 0; i < CALLS && !use.call; i++)
		if (calls[i].number == request->data.nr)
			use.call = &calls[i];
	if (use.call->what != NONE)
		snprintf(use.what, sizeof(use.what), "%#llx", (unsigned long long)request->data.args[use.call->what] & 0xffffffff);
	object_of(request, use.call->object, use.object, sizeof(use.object));
	return use;
}

static int fits(const char *wanted, const char *is) { return !strcmp(wanted, "-") || !strcmp(wanted, is); }

// 0: let it be done.
static int answer(struct wanted *wanted, const struct seccomp_notif *request, FILE *log)
{
	if (!by_program(request, wanted->program))
		return 0;
	struct use use = use_of(request);
	if (!wanted->call) {
		fprintf(log, "%s\t%s\t%s\n", use.call->name, use.what, use.object);
		return 0;
	}
	if (!fits(wanted->what, use.what) || !fits(wanted->object, use.object) || ++wanted->seen != wanted->use)
		return 0;
	fprintf(log, "failed\t%s\t%s\t%s\n", use.call->name, use.what, use.object);
	return -wanted->error;
}

static void serve(int listener, struct wanted *wanted, const char *log_path)
{
	FILE *log = fopen(log_path, "w");
	struct pollfd ready = { listener, POLLIN, 0 };

	if (!log)
		_exit(98);
	setvbuf(log, NULL, _IOLBF, 1 << 12);
	for (;;) {
		struct seccomp_notif request = { 0 };
		struct seccomp_notif_resp response = { 0 };
		if (poll(&ready, 1, -1) < 0 && errno == EINTR)
			continue;
		if (ready.revents & POLLHUP)
			break;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request))
			continue; // it was killed meanwhile
		response.id = request.id;
		response.error = answer(wanted, &request, log);
		response.flags = response.error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
	fputs("gone\n", log);
	fclose(log);
	_exit(0);
}

// The child shares our table of descriptors until it executes: so the listener is ours as well, without a call more.
static pid_t start(char **command, const char *only, volatile int *shared)
{
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (child)
		return child;
	shared[0] = 1 + install(only);
	if (shared[0] == 0) {
		shared[0] = -1;
		syscall(SYS_exit_group, 99);
	}
	while (!shared[1])
		; // no call: nobody serves yet
	execvp(command[0], command);
	syscall(SYS_exit_group, 127);
	return 0;
}

int main(int argc, char **argv)
{
	struct wanted wanted = { 0 };
	int rest = 4;

	if (argc > 4 && strcmp(argv[3], "count")) {
		if (argc < 9)
			return 2;
		wanted = (struct wanted){ argv[2], argv[3], argv[4], argv[5], atoi(argv[6]), atol(argv[7]), 0 };
		rest = 8;
	}
	if (argc <= rest)
		return 2;
	wanted.program = argv[2];
	dl_iterate_phdr(note_linker, NULL);
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = start(argv + rest, wanted.call, shared);
	while (shared[0] == 0)
		sched_yield();
	if (shared[0] < 0)
		return 99;
	int listener = shared[0] - 1;
	pid_t keeper = fork();
	if (keeper == 0) {
		setsid();
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		serve(listener, &wanted, argv[1]);
	}
	close(listener);
	shared[1] = 1;
	int status = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
