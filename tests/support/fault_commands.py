"""What sweep_faults.py runs: for each name the steps of one case, and what puts things back after it.

A line is a call of the program, in an empty folder each time. Of the fixture: {data} files on a disk of their own, {cat} their
catalog, {loop} the disk, {db} results, {trace} a block trace, {csv} the same as text, {files} a file trace, {name} a name of
this sweep's own for disks and pins.
"""

RUN = "run --catalog {cat} --no-probe --no-ceiling --seed 3 --verify --json"
NODE_BACK = ["node restore"]
BORROWS = ("node", "exec", "run-node", "run-pins")

CASES = {
    "catalog": ["catalog {data} -o out.cat --json", "catalog --check out.cat --json"],
    "dataset": ["dataset make set --count 12 --size 8KiB --fragment 2 --json", "dataset make tar --count 12 --size 4KiB --format tar"],
    "plan": ["plan {cat} --order random --merge none --shuffle reservoir --window 128KiB --emission out.csv --json"],
    "simulate": ["simulate {cat} --model hdd-7200 --json"],
    "run-io_uring": [RUN + " --engine io_uring"],
    "run-libaio": [RUN + " --engine libaio"],
    "run-psync": [RUN + " --engine psync"],
    "run-mmap": [RUN + " --engine mmap --buffered"],
    "run-nowait": [RUN + " --engine nowait --buffered"],
    "run-hint": [RUN + " --engine hint --buffered"],
    "run-sqpoll": [RUN + " --engine io_uring-sqpoll"],
    "run-device": [RUN + " --merge device --order lba"],
    "run-workers": [RUN + " --reader workers:2 --copy host --compute 1ms --batch 8"],
    "run-data": ["run --data {data} --no-probe --no-ceiling --json --buffered --emission out.csv"],
    "run-db": ["run --catalog {cat} --no-probe --json --db out.db", "report out.db --json", "timeline 1 --db out.db -o lanes.json"],
    "run-probe": ["run --catalog {cat} --probe-cache --probe-layers --no-ceiling --json --db out.db"],
    "run-node": [RUN + " --scheduler mq-deadline --read-ahead 64KiB --memory-limit 512MiB --bind reader=cpu:0 --ioprio be:2"],
    "run-pins": [RUN + " --pin-pages 25% --pin-inodes --buffered"],
    "report": ["report {db} -o out --no-figures", "report {db} --json"],
    "doctor": ["doctor {data} --json"],
    "probe": ["probe {loop} --seconds 1 --json"],
    "map": ["map {loop} --unwritten --seconds 1 --parts size,depth --json --db out.db"],
    "disk": ["disk start {name} --model none --size 32MiB --json", "disk stats {name} --json", "disk stop {name}"],
    "disk-fs": ["disk start {name} --model none --size 32MiB --backing out.img --fs ext4 --mount mnt", "disk list",
                "disk set {name} --speedup 2", "disk stop {name}"],
    "pin": ["cache pin --name {name} --pages {data} --json", "cache list --json", "cache unpin {name}"],
    "pin-inodes": ["cache pin --name {name} --inodes {data} --json", "cache unpin {name}"],
    "cache": ["cache warm {data} --json", "cache stat {data} --json", "cache drop {data} --json"],
    "trace-import": ["trace import {csv} --format csv -o out.trace --json", "trace stat out.trace --json",
                     "trace export out.trace --format iolog -o out.log"],
    "record-device": ["trace record --device {loop} --seconds 1 -o out.trace"],
    "record-files": ["trace record --files --data {data} -o out.trace -- cat {one}"],
    "replay": ["replay {trace} --device {loop} --timing asap --json"],
    "replay-files": ["replay {files} --data {data} --timing asap --cache keep --json"],
    "node": ["node set --device {loop} --scheduler mq-deadline --read-ahead 64KiB --json", "node show {loop} --json", "node restore"],
    "exec": ["node exec --device {loop} --scheduler mq-deadline --memory-limit 256MiB -- cat {one}"],
}

# Steps that take something back; steps whose answer says what is wrong, on stdout.
UNDOES = ("node restore", "disk stop", "cache unpin")
ANSWERS = ("doctor", "catalog")
AFTER = {
    "disk": ["disk stop {name} --force"], "disk-fs": ["disk stop {name} --force"], "pin": ["cache unpin {name}"],
    "pin-inodes": ["cache unpin {name}"],
}


def after(name):
    return AFTER.get(name, []) + (NODE_BACK if name in BORROWS else [])


# What may fail is tried with each of these; what is not here cannot fail in a way that a program could see, or is left out
# with its reason below.
ERRORS = {
    "EACCES EMFILE EIO ENOMEM EINTR": "openat openat2 open",
    "EIO EINTR": "read pread64 readv preadv preadv2 ioctl recvmsg recvfrom",
    "EIO ENOSPC EINTR": "write pwrite64 writev pwritev ftruncate fallocate truncate",
    "EIO ENOSPC": "fsync fdatasync syncfs sync_file_range rename renameat renameat2 msync",
    "EIO ENOMEM": "getdents64 statfs fstatfs mbind move_pages mount readahead fadvise64",
    "EIO EACCES": "newfstatat statx fstat stat lstat access faccessat2 readlink readlinkat unlink unlinkat rmdir chdir fchdir",
    "EIO": "lseek umount2 splice",
    "ENOSPC EACCES": "mkdir mkdirat link linkat symlink symlinkat",
    "EPERM EIO": "chmod fchmod fchmodat chown fchown utimensat",
    "ENOMEM EAGAIN": "mmap mremap mlock mlock2 mprotect madvise mincore clone clone3 fork vfork process_madvise",
    "EMFILE ENOMEM": "socket socketpair pipe2 eventfd2 timerfd_create epoll_create1 signalfd4 inotify_init1 memfd_create dup dup2 "
                     "dup3 pidfd_open perf_event_open accept4",
    "EACCES EAGAIN EINTR": "connect",
    "ENOMEM EINTR": "bind sendto sendmsg poll ppoll flock getcwd cachestat",
    "ENOMEM": "listen setsockopt epoll_ctl sched_getaffinity",
    "EINTR": "epoll_wait epoll_pwait select pselect6 wait4 waitid clock_nanosleep io_getevents io_pgetevents",
    "ENOMEM EACCES": "execve",
    "ENOSPC ENOMEM": "inotify_add_watch timerfd_settime",
    "EMFILE ENOMEM EPERM": "io_uring_setup",
    "EAGAIN EINTR ENOMEM": "io_uring_enter",
    "ENOMEM EINVAL": "io_uring_register",
    "EAGAIN ENOMEM": "io_setup io_submit",
    "EPERM ENOMEM EMFILE": "bpf",
    "EPERM": "sched_setaffinity sched_setscheduler setpriority ioprio_set ioprio_get get_mempolicy prctl unshare setrlimit",
    "EIO ENOSPC ": "copy_file_range sendfile",
}
# Of fcntl only what takes a descriptor, a lock or a lease can fail.
FCNTL = {"0": "EMFILE", "0x406": "EMFILE", "0x6": "ENOLCK", "0x7": "ENOLCK", "0x25": "ENOLCK", "0x26": "ENOLCK", "0x400": "ENOMEM EAGAIN"}
ERRORS_OF = {call: errors.split() for errors, calls in ERRORS.items() for call in calls.split()}
# (call, error, object) that no kernel answers.
IMPLAUSIBLE = {("writev", error, "/dev/fuse"): "libfuse's answer to the first request: a kernel that does not take it has no mount"
               for error in ("EINTR", "EIO", "ENOSPC")}
# What may be another without a word: (keys of the answer, why).
TOLERATED = {
    "cachestat": (r"unreadable_files|before\.bytes", "the file is counted as one that could not be asked"),
    "readlink": (r"\.filesystem$", "a name that is not known is empty"), "openat": (r"\.filesystem$", "likewise"),
    "preadv2": (r"answered_at_once", "asked again in the ordinary way"),
}


def errors_of(call, what):
    return FCNTL.get(what, "").split() if call == "fcntl" else ERRORS_OF.get(call, [])


# close: the descriptor is gone even if it says EIO, which an answer instead of the call cannot imitate; munmap, munlock,
# getrandom, uname, sysinfo, prlimit64, kill, pidfd_send_signal, membarrier: fail only by a program's own mistake; futex, brk: of the C library.
