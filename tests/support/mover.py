"""Moves, or changes, the files of a data set under whoever reads it.

  mover.py KIND DATA SCRATCH once|loop     SCRATCH is a folder on the same filesystem

KIND: quiet nothing at all; swap blocks away and back (ext4), with other bytes in them meanwhile;
dedupe onto a copy (xfs, btrfs: times stay); reflink a copy over it; rewrite, same size, old mtime;
truncate and write again; punch a hole; defrag with the filesystem's own program; trim free space;
shrink the filesystem and grow it back; balance (btrfs). After each file the blocks that may have
become free are overwritten. Errors of single actions are none of ours: the reader is what is tested.
"""
import ctypes
import fcntl
import os
import pathlib
import struct
import subprocess
import sys

MOVE_EXT = 0xC028660F      # _IOWR('f', 15, struct move_extent), fs/ext4/ext4.h
FICLONE = 0x40049409       # linux/fs.h
FIDEDUPERANGE = 0xC0189436
PUNCH = 0x02 | 0x01        # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
BLOCK = 4096
JUNK = os.urandom(1 << 20)


def junk(scratch: pathlib.Path, mib: int = 4) -> None:
    """Other bytes into blocks that have become free."""
    path = scratch / "junk"
    with open(path, "wb") as f:
        for _ in range(mib):
            f.write(JUNK)
        f.flush()
        os.fsync(f.fileno())
    path.unlink()


def swap(file: pathlib.Path, scratch: pathlib.Path) -> None:
    donor = scratch / ("donor-" + file.name)
    size = file.stat().st_size
    blocks = -(-size // os.statvfs(file).f_bsize)
    with open(file, "rb+") as a, open(donor, "ab+") as b:
        os.posix_fallocate(b.fileno(), 0, size)
        move = struct.pack("=IIQQQQ", 0, b.fileno(), 0, 0, blocks, 0)
        fcntl.ioctl(a, MOVE_EXT, move)
        os.pwrite(b.fileno(), JUNK[:size], 0)
        os.fsync(a.fileno())
        os.fsync(b.fileno())


def copy_of(file: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    copy = scratch / "copy"
    with open(copy, "wb") as f:
        f.write(file.read_bytes())
        f.flush()
        os.fsync(f.fileno())
    return copy


def dedupe(file: pathlib.Path, scratch: pathlib.Path) -> None:
    size = file.stat().st_size
    with open(copy_of(file, scratch), "rb") as source, open(file, "rb+") as target:
        fcntl.ioctl(source, FIDEDUPERANGE,
                    struct.pack("=QQHHIqQQiI", 0, size, 1, 0, 0, target.fileno(), 0, 0, 0, 0))
        os.fsync(target.fileno())
    junk(scratch, 1)


def reflink(file: pathlib.Path, scratch: pathlib.Path) -> None:
    with open(copy_of(file, scratch), "rb") as source, open(file, "rb+") as target:
        fcntl.ioctl(target, FICLONE, source.fileno())


def rewrite(file: pathlib.Path, scratch: pathlib.Path) -> None:
    st = file.stat()
    with open(file, "rb+") as f:
        f.write(JUNK[:st.st_size])
    os.utime(file, ns=(st.st_atime_ns, st.st_mtime_ns))


def truncate(file: pathlib.Path, scratch: pathlib.Path) -> None:
    held = file.read_bytes()
    os.truncate(file, len(held) // 2)
    junk(scratch, 1)
    with open(file, "ab") as f:
        f.write(held[len(held) // 2:])


def punch(file: pathlib.Path, scratch: pathlib.Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with open(file, "rb+") as f:
        libc.fallocate(f.fileno(), PUNCH, ctypes.c_long(BLOCK), ctypes.c_long(2 * BLOCK))
    junk(scratch, 1)


def call(*command: str) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def filesystem(path: pathlib.Path) -> str:
    return subprocess.check_output(["stat", "-f", "-c", "%T", path], text=True).strip()


def defrag(file: pathlib.Path, scratch: pathlib.Path) -> None:
    tool = {"xfs": ["xfs_fsr"], "btrfs": ["btrfs", "filesystem", "defragment", "-f"]}
    call(*tool.get(filesystem(file), ["e4defrag"]), str(file))


def mount_of(path: pathlib.Path) -> str:
    return subprocess.check_output(["stat", "-c", "%m", path], text=True).strip()


def trim(file: pathlib.Path, scratch: pathlib.Path) -> None:
    call("fstrim", mount_of(file))


def shrink(file: pathlib.Path, scratch: pathlib.Path) -> None:
    mount = mount_of(file)
    if filesystem(file) == "btrfs":
        call("btrfs", "filesystem", "resize", "-64m", mount)
        junk(scratch)
        call("btrfs", "filesystem", "resize", "max", mount)
    else:
        st = os.statvfs(mount)
        call("xfs_growfs", "-D", str(st.f_blocks - 2048), mount)
        call("xfs_growfs", mount)


def balance(file: pathlib.Path, scratch: pathlib.Path) -> None:
    call("btrfs", "balance", "start", "--full-balance", mount_of(file))
    junk(scratch)


ONCE = {"trim", "shrink", "balance"}  # act on the filesystem, not on each file


def main() -> int:
    kind, data, scratch, how = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
    scratch.mkdir(exist_ok=True)
    files = sorted(p for p in data.rglob("*") if p.is_file())
    if kind == "quiet":
        return 0
    while True:
        for file in files[:1] if kind in ONCE else files:
            try:
                globals()[kind](file, scratch)
            except OSError:
                pass
        junk(scratch)
        if how == "once":
            return 0


if __name__ == "__main__":
    sys.exit(main())
