#!/usr/bin/python3
"""hostile.py BLKSWEEP FOLDER COUNT [SEED]: COUNT generated files of a stranger through the verbs, as root.

Catalogs, databases, specs, models, journals and lists are damaged copies of whole ones (bits, cuts, blocks
moved, numbers, checksums made right again); folders hold names with every byte, links, FIFOs and sockets, and
some change while they are read. Each call must end by itself within LONGEST_S with a documented exit status;
one of TRACED runs under strace, and must not have opened anything for writing outside, or executed anything
but its helpers. To be run in a mount namespace of its own: /run is replaced. Exit 1 when one did not hold.
"""
import collections
import faulthandler
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

LONGEST_S = 20  # of a call that takes a second where the machine has time for it
TRACED = 25
STATUSES = {0, 1, 2, 3, 77}
NOBODY = 65534
WRITES = re.compile(r'^\d+ +(?:open|openat|openat2|creat)\((?:\w+, |AT_FDCWD, )?"([^"]*)", [^)]*(?:O_WRONLY|O_RDWR|O_CREAT)[^)]*\) = \d')
CHANGES = re.compile(r'^\d+ +(?:unlink|unlinkat|rename|renameat2?|chmod|chown|truncate|symlinkat?|linkat|mkdirat?)\([^"]*"([^"]*)".* = 0')
EXECUTED = re.compile(r'^\d+ +execve\("([^"]*)".* = 0')
HELPERS = re.compile(r"^/usr/(local/)?s?bin/(fio|python3[.\d]*|blkid|mkfs\.\w+)$")


def damaged(draw, data):
    """A copy that differs somewhere, in one of the ways in which files are damaged or forged."""
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        at = draw.randrange(len(data))
        way = draw.randrange(8)
        if way == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif way == 1:
            data[at:at + 8] = draw.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)).to_bytes(8, "little")
        elif way == 2:
            del data[at:]
        elif way == 3:
            del data[at:at + draw.randrange(1, 64)]
        elif way == 4:
            data[at:at] = draw.randbytes(draw.randrange(1, 64))
        elif way == 5:
            other = draw.randrange(len(data))
            data[at:at + 32] = data[other:other + 32]
        elif way == 6:
            data += data[at:]
        else:
            data[at:at + 1] = draw.choice((b"\0", b"\n", b"\x1b[2J", b'"', b"\xff", b"{", b"../", b"9" * 40))
    return bytes(data)


class Stranger:
    def __init__(self, program, folder, draw):
        self.program, self.folder, self.draw = program, pathlib.Path(folder).resolve(), draw
        self.theirs = self.folder / "theirs"
        self.mine = self.folder / "mine"
        self.theirs.mkdir()
        self.mine.mkdir(mode=0o700)
        self.data = self.theirs / "data"
        self.call("dataset", "make", self.data, "--count", "30", "--size", "4KiB", "--classes", "3")
        os.chown(self.theirs, NOBODY, NOBODY)  # root writes into no folder of a stranger
        self.call("catalog", self.data, "-o", self.mine / "whole.cat")
        self.call("run", "--catalog", self.mine / "whole.cat", "--buffered", "--cache", "keep", "--no-probe",
                  "--no-ceiling", "--db", self.mine / "whole.db")
        (self.mine / "whole.toml").write_text(
            f'data = "{self.data}"\nbuffered = true\ncache = "keep"\nprobe = false\nceiling = false\n'
            'order = ["random", "path"]\nrepeats = 1\n[[cell]]\ndepth = 4\n')
        models = pathlib.Path(__file__).resolve().parents[2] / "scripts/models"
        shutil.copy(next(models.glob("hdd-7200*.toml")), self.mine / "model.toml")
        self.whole = {name: (self.mine / name).read_bytes()
                      for name in ("whole.cat", "whole.db", "whole.toml", "model.toml")}
        self.journals = pathlib.Path("/run/blksweep/journal")

    def call(self, *words):
        subprocess.run([self.program, "--quiet", *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                       timeout=10 * LONGEST_S)

    def put(self, name, data, owner=NOBODY):
        path = self.theirs / name
        if path.is_symlink() or path.exists():
            path.unlink()
        kind = self.draw.randrange(40)
        if kind == 0:
            os.mkfifo(path)
        elif kind == 1:
            path.symlink_to(self.draw.choice(("/etc/shadow", "/dev/zero", "/dev/tty", "/proc/kcore", str(path))))
        elif kind == 2:
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(str(path))
        elif kind == 3:
            with path.open("wb") as f:
                f.write(data[:100])
                f.truncate(1 << self.draw.randrange(30, 44))
        else:
            path.write_bytes(data)
        os.chown(path, owner, owner, follow_symlinks=False)
        return path

    def nearby(self, data, path):
        """A damaged copy in which no `path` leads to another folder: a whole file system takes its time, rightly."""
        while True:
            copy = damaged(self.draw, data)
            if not any(self.is_elsewhere(os.fsdecode(found)) for found in re.findall(path, copy)):
                return copy

    def is_elsewhere(self, path):
        if "\0" in path:
            return False
        real = os.path.realpath(self.mine / path)
        return os.path.isdir(real) and not pathlib.Path(real).is_relative_to(self.folder)

    # Each gives the words of a call.
    def catalog(self):
        # Of root or of nobody: what is in it counts.
        path = self.put("x.cat", damaged(self.draw, self.whole["whole.cat"]), self.draw.choice((0, NOBODY)))
        return self.draw.choice((["plan", path], ["catalog", "--check", path], ["simulate", path, "--model", "none"],
                                 ["run", "--catalog", path, "--buffered", "--no-probe", "--no-ceiling"]))

    def database(self):
        for beside in ("x.db-journal", "x.db-wal", "x.db-shm"):
            (self.theirs / beside).unlink(missing_ok=True)
        owner = self.draw.choice((0, 0, NOBODY))
        path = self.put("x.db", damaged(self.draw, self.whole["whole.db"]), owner)
        if self.draw.random() < 0.2:
            self.put(self.draw.choice(("x.db-journal", "x.db-wal")), damaged(self.draw, self.whole["whole.db"]))
        return self.draw.choice((["report", path], ["report", path, "--json"], ["timeline", "--db", path],
                                 ["timeline", "1", "--db", path, "-o", "-"]))

    def spec(self):
        return ["run", self.put("x.toml", self.nearby(self.whole["whole.toml"], rb'"([^"\n]*)"'))]

    def model(self):
        path = self.put("m.toml", damaged(self.draw, self.whole["model.toml"]))
        return ["simulate", self.mine / "whole.cat", "--model", path]

    def journal(self):
        self.journals.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.chmod(self.journals.parent, 0o700)
        line = b'0123456789abcdef {"boot":"x","pid":1,"start":2,"command":"x","kept":false}\n'
        (self.journals / f"{self.draw.randrange(1, 99999)}-{self.draw.randrange(9999)}").write_bytes(
            damaged(self.draw, line * self.draw.randrange(1, 4)))
        return ["node", "restore", *self.draw.choice(([], ["--discard"]))]

    def listing(self):
        return ["cache", "pin", "--name", "x", "--pages", "--dry-run", "--list",
                self.put("list", self.nearby(f"{self.data}\n".encode() * 5, rb"[^\n]+"))]

    def folder_of_names(self):
        root = self.theirs / "names"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        for _ in range(self.draw.randrange(1, 8)):
            size = self.draw.choice((1, 3, 30, 255))
            name = bytes(self.draw.choice([b for b in range(1, 256) if b != 0x2F]) for _ in range(size))
            path = os.path.join(os.fsencode(root), name)
            try:
                self.draw.choice((os.mkfifo, os.mkdir, lambda p: open(p, "xb").close(),  # x: a name may be a FIFO's by now
                                  lambda p: open(p, "xb").write(b"x" * 5000) and None,
                                  lambda p: os.symlink(b"/etc", p), lambda p: os.symlink(b"..", p),
                                  lambda p: os.symlink(p, p)))(path)
            except OSError:
                pass
        return self.draw.choice((["catalog", root, "-o", self.mine / "n.cat"], ["doctor", root], ["cache", "stat", root],
                                 ["dataset", "pack", root, "-o", self.mine / "packed"],
                                 ["run", "--data", root, "--buffered", "--no-probe", "--no-ceiling"]))

    def swapped(self):
        """The data set changes while it is read."""
        def swap():
            time.sleep(self.draw.random() * 0.05)
            files = [p for p in self.data.rglob("*") if p.is_file()]
            victim = self.draw.choice(files) if files else None
            if victim is None:
                return
            aside = victim.with_name(".aside")
            victim.rename(aside)
            try:
                self.draw.choice((lambda: os.mkfifo(victim), lambda: victim.symlink_to("/etc/shadow"),
                                  lambda: victim.mkdir(), lambda: None))()
                time.sleep(0.02)
                if victim.is_dir() and not victim.is_symlink():
                    victim.rmdir()
                else:
                    victim.unlink(missing_ok=True)
            finally:
                aside.rename(victim)
        threading.Thread(target=swap, daemon=True).start()
        return ["run", "--data", self.data, "--buffered", "--cache", "keep", "--no-probe", "--no-ceiling", "--repeats", "3"]

    KINDS = ((catalog, 35), (database, 25), (spec, 10), (model, 10), (journal, 5), (listing, 5), (folder_of_names, 8),
             (swapped, 2))

    def words(self):
        kind = self.draw.choices([k for k, _ in self.KINDS], [w for _, w in self.KINDS])[0]
        return kind.__name__, [str(w) for w in kind(self)]

    def fault(self, words, traced):
        shutil.rmtree(self.mine / "packed", ignore_errors=True)
        trace = self.mine / "trace"
        command = [self.program, "--quiet", *words]
        if traced:
            command = ["strace", "-f", "-s", "300", "-e", "trace=%file", "-e", "signal=none", "-o", str(trace), *command]
        try:
            ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, cwd=self.mine,
                                 timeout=LONGEST_S * (4 if traced else 1), check=False)
        except subprocess.TimeoutExpired:
            return f"no end after {LONGEST_S} s"
        if ran.returncode not in STATUSES:
            return f"status {ran.returncode}: {ran.stderr[-300:]!r}"
        if b"\x1b" in ran.stderr or b"\x1b" in ran.stdout:
            return "a control byte reached the terminal"
        return self.outside(trace) if traced else None

    def outside(self, trace):
        allowed = (str(self.mine), "/run/blksweep", "/tmp/blksweep-", "/dev/null", "/proc/self/", "/proc/sys/vm/drop_caches", "/dev/fuse",
                   "/dev/loop-control",
                   "shard_", "/var/tmp", "/dev/shm")
        for line in trace.read_text(errors="replace").splitlines():
            for pattern in (WRITES, CHANGES):
                found = pattern.match(line)
                if found and found[1].startswith("/") and not found[1].startswith(allowed):
                    return "changed outside: " + line[:200]
            found = EXECUTED.match(line)
            if found and found[1] != self.program and not HELPERS.match(found[1]):
                return "executed: " + line[:200]
        return None


def main(argv):
    program, folder, count = argv[:3]
    seed = int(argv[3]) if len(argv) > 3 else 1
    draw = random.Random(seed)
    faulthandler.register(signal.SIGTERM, chain=True)  # whoever ends us because we hang is told where
    print(f"seed {seed}", flush=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    stranger = Stranger(program, folder, draw)
    done, faults = collections.Counter(), 0
    for i in range(int(count)):
        name, words = stranger.words()
        fault = stranger.fault(words, i % TRACED == 0)
        done[name] += 1
        if fault:
            faults += 1
            kept = pathlib.Path("/var/tmp", f"blksweep-hostile-{os.getpid()}-{i}")
            print(f"FAILED: {i}: {' '.join(words)}: {fault} (kept in {kept})", flush=True)
            subprocess.run(["cp", "-a", "--sparse=always", stranger.theirs, kept], check=False)  # some are 32 GiB of holes, some change
            if faults > 20:
                break
    print(f"{sum(done.values())} inputs ({', '.join(f'{k} {v}' for k, v in done.items())}), {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
