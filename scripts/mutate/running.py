"""Runs one command of a campaign so that nothing of it stays: no process, no mount, no file in $TMPDIR, no loop device on one.

A changed program may loop, or ask for all memory: time of the CPU, memory and core files are bounded. As root the command has
processes, mounts and a /run of its own (unshare), which the kernel ends with it, and holds no disk that others have mounted.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

STOP = threading.Event()  # set: every command is ended, and asking for another one raises Interrupted
NEVER = threading.Event()
MEMORY = 6 << 30          # bytes of data, of each process
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
OWN_MOUNTS = pathlib.Path(__file__).resolve().parents[2] / "tests/support/own_mounts.sh"
# The first process of a namespace ignores signals: a shell is that.
OWN = (*UNSHARE, str(OWN_MOUNTS), "--inside", "/none", "sh", "-c", 'mount -t tmpfs tmpfs /run && "$@"; exit $?', "first") if os.geteuid() == 0 and shutil.which("unshare") else ()


class Interrupted(Exception):
    """STOP was set."""


def killed(ran):
    """Ends what is left of the command's process group."""
    try:
        os.killpg(ran.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    ran.wait()


def waited(ran, seconds, needless):
    """Its exit status; None when it had not ended by then, or nobody needs it any more."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not needless.is_set():
        if STOP.is_set():
            raise Interrupted
        try:
            return ran.wait(min(0.5, max(0.01, until - time.monotonic())))
        except subprocess.TimeoutExpired:
            pass
    return None


def ended(command, cwd, seconds, log=None, env=None, needless=NEVER):
    """Its exit status; None when it had to be ended."""
    if STOP.is_set():
        raise Interrupted
    out = open(log, "w", encoding="utf-8") if log else subprocess.DEVNULL
    ran = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                           env={**os.environ, **(env or {})})
    try:
        return waited(ran, seconds, needless)
    finally:
        killed(ran)
        if log:
            out.close()


def loops_on(folder):
    """Loop devices whose file is, or was, below the folder."""
    found = []
    for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if path.read_text().startswith(f"{folder}/"):
                found.append(f"/dev/{path.parent.parent.name}")
        except OSError:
            pass  # detached meanwhile
    return found


def dead_loops(block="/sys/block"):
    """Loop devices on the file of an emulated disk that ended with its mount namespace: nobody can reach it any more."""
    found = []
    for path in pathlib.Path(block).glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if path.read_text() == "/data\n" and not os.path.exists("/data"):
                found.append(f"/dev/{path.parent.parent.name}")
    return found


def groups(root="/sys/fs/cgroup"):
    """Cgroups that the program makes for a run."""
    return {path for pattern in ("blksweep-*", "*/blksweep-*") for path in pathlib.Path(root).glob(pattern)}


@contextlib.contextmanager
def groups_removed(root="/sys/fs/cgroup"):
    """Its journals are gone with its /run: nobody else takes down what a program that was ended has left. One with processes stays."""
    found = groups(root)
    try:
        yield
    finally:
        for path in groups(root) - found:
            with contextlib.suppress(OSError):
                path.rmdir()


def setting(file):
    """What it says, of a choice what is chosen; None where it cannot be read."""
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    choice = re.search(r"\[(.+?)\]", text)
    return choice[1] if choice else text


def free_queues(block):
    """Of loop devices that nobody has: whose has a file may be somebody's, who wants it as it is."""
    return [loop / "queue" for loop in sorted(pathlib.Path(block).glob("loop*")) if not (loop / "loop/backing_file").exists()]


def settings(block):
    """Of free queues. The scheduler first: it resets others; never the limit of discards (scripts/loopfs.sh)."""
    files = [file for queue in free_queues(block) for file in (queue / "scheduler", *sorted(queue.iterdir()))]
    return {file: setting(file) for file in files
            if file.name != "discard_max_bytes" and file.is_file() and file.stat().st_mode & 0o200}


def give_all_tags(queue):
    """Without a scheduler: they may be fewer than nr_requests says, which is not looked at unless it changes (scripts/loopfs.sh)."""
    requests = setting(queue / "nr_requests")
    if setting(queue / "scheduler") == "none" and requests:
        with contextlib.suppress(OSError):
            (queue / "nr_requests").write_text(str(int(requests) - 1))
            (queue / "nr_requests").write_text(requests)


@contextlib.contextmanager
def queues_put_back(block="/sys/block"):
    """A changed program, or one that is ended, may leave them as nobody wants them; they outlive whoever had the device."""
    found = settings(block)
    try:
        yield
    finally:
        free = free_queues(block)
        for file, text in [*found.items()] * 2:
            with contextlib.suppress(OSError):
                if text is not None and file.parent in free and setting(file) != text:
                    file.write_text(text)
        for queue in free:
            give_all_tags(queue)


def bounded(command, cwd, seconds, cpu_seconds, env=None, needless=NEVER):
    """The same of a test: bounded, with a folder of its own for what it makes, which is gone afterwards."""
    folder = tempfile.mkdtemp(prefix="mutate-")
    bounds = ("prlimit", f"--cpu={int(cpu_seconds)}:{int(cpu_seconds) + 2}", f"--data={MEMORY}", "--core=0")
    try:
        with groups_removed():
            return ended((*OWN, *bounds, *command), cwd, seconds, None, {**(env or {}), "TMPDIR": folder}, needless)
    finally:
        for loop in (*loops_on(folder), *dead_loops()):
            subprocess.run(("losetup", "-d", loop), check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
