#!/usr/bin/python3
"""Fails each system call of each command once, at its first, second and last use, and judges what follows.

    sweep_faults.py FIXTURE.json RESULTS.jsonl [--only NAME,...] [--without CALL,...] [--objects] [--seconds N] [--seed N]

FIXTURE.json names what the cases of fault_commands.py are run on. A line of RESULTS is one fault; what is in there already is
not repeated, so that a sweep that was cut off goes on. With --objects each call is also failed at the first use on each file.
A fault must end, without a signal, in a status other than 0 and a line that says what failed, or in the result that there is
without it; nothing may be left behind that the program did not name. What does not hold is tried once more, because others
work on the same node, and is a finding when it does not hold again. exit: 1 with findings.
"""
import argparse
import collections
import errno
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import fault_commands

PATIENCE_S = 30
STEP = """
n=$((n + 1)); "$PROGRAM" {line} >out.$n 2>err.$n </dev/null; echo $? >status.$n
"""


# What differs between two undisturbed runs now and then: times, what others read, what was in the caches, names of devices.
VOLATILE = re.compile(r"noise\.|memory|device_|own_read|_merges|requests|_ns\b|latency|took|slab|resident|longest_lane|\.device\b|"
                      r"verdict|lateness|certificate|samples_per_s"
                      r"|stalls|phases|overlap|faults|incomplete|answered_at_once|depth_mean|borrowed|cache_peak")


def leaves(value, path=""):
    """(path, value) of everything in a JSON document that is no list or object."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{i}]")
    else:
        yield path, value


class Result:
    """What one run of a case left: statuses, words on stderr, and everything that can be compared."""

    def __init__(self, folder, timed_out):
        self.timed_out = timed_out
        self.statuses, self.said, self.facts = [], [], {}
        for step in range(1, 10):
            if not (folder / f"err.{step}").exists():
                break
            self.said.append((folder / f"err.{step}").read_text(errors="replace").strip())
            status = folder / f"status.{step}"
            self.statuses.append(int(status.read_text() or 255) if status.exists() else 255)
            self.facts.update(self.answer(step, (folder / f"out.{step}").read_text(errors="replace")))
        own = {f"{word}.{n}" for word in ("out", "err", "status") for n in range(10)}
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.name not in own:
                self.facts[f"file {file.relative_to(folder)}"] = hashlib.sha1(file.read_bytes()).hexdigest()

    @staticmethod
    def answer(step, text):
        try:
            return {f"{step}:{path}": value for path, value in leaves(json.loads(text))}
        except ValueError:
            return {f"{step}:line {i}": line for i, line in enumerate(text.splitlines())}


class Sweep:
    def __init__(self, fixture, results):
        self.fixture, self.results = fixture, results
        self.work = pathlib.Path(fixture["work"])
        self.serial = 0

    def fill(self, line):
        return line.format(**self.fixture)

    def run(self, case, fault):
        """fault: ["count"] or [CALL, WHAT, OBJECT, ERRNO, N]; returns the result, the log's lines, what is left."""
        folder = self.work / "case"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "mnt").mkdir(parents=True)
        script = "n=0" + "".join(STEP.format(line=self.fill(line)) for line in fault_commands.CASES[case])
        log = self.work / "log"
        log.unlink(missing_ok=True)
        environment = {**os.environ, "PROGRAM": self.fixture["program"], "TMPDIR": str(folder), "FAULTS_SWEEP": str(self.work)}
        process = subprocess.Popen([self.fixture["fail_call"], str(log), self.fixture["program"], *fault, "bash", "-c", script],
                                   cwd=folder, env=environment, start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        timed_out = False
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            timed_out = self.stuck_where()
            self.end_group(process)
        result = Result(folder, timed_out)
        left = self.left_behind(folder)
        self.clean(case)
        still = self.left_behind(folder)
        if still:
            self.force(folder)
        self.wait_gone(log)
        return result, log.read_text().splitlines() if log.exists() else [], left, still

    def stuck_where(self):
        """The commands that still run, and the call that each thread is in."""
        lines = []
        for pid in self.own_processes():
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
                try:
                    lines.append(f"{(task / 'comm').read_text().strip()} {(task / 'syscall').read_text().split()[0]}")
                except (OSError, IndexError):
                    pass
        return ", ".join(lines) or "?"

    def end_group(self, process):
        for pid in [process.pid, *self.own_processes()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()

    def own_processes(self):
        """Those that this sweep started and that still live, daemons too: they carry its name."""
        mark = f"FAULTS_SWEEP={self.work}".encode()
        own = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0") and (entry / "comm").read_text() != "fail_call\n":
                    own.append(int(entry.name))
            except OSError:
                pass
        return own

    def left_behind(self, folder):
        left = [f"process {pid}" for pid in self.own_processes()]
        mounts = pathlib.Path("/proc/self/mountinfo").read_text()
        left += [f"mount {word}" for word in (str(folder), f"/disks/{self.fixture['name']}/") if word in mounts]
        for backing in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
            text = backing.read_text(errors="replace") if backing.exists() else ""
            if str(folder) in text or f"/disks/{self.fixture['name']}/" in text:
                left.append(f"loop device {backing.parts[3]}")
        for kind in ("disks", "pins"):
            if pathlib.Path("/run/blksweep", kind, self.fixture["name"]).exists():
                left.append(f"{kind} {self.fixture['name']}")
        queue = pathlib.Path("/sys/block", pathlib.Path(self.fixture["loop"]).name, "queue")
        now = [(queue / name).read_text().strip() for name in ("scheduler", "read_ahead_kb", "nr_requests")]
        if self.fixture.setdefault("queue", now) != now:
            left.append(f"queue {now}, was {self.fixture['queue']}")
        # Not rglob, which fails where a group of somebody goes meanwhile.
        left += [f"cgroup {name}" for _, names, _ in os.walk("/sys/fs/cgroup") for name in names
                 if name.startswith("blksweep-") and self.dead(name)]
        return left

    @staticmethod
    def dead(name):
        return not any(pathlib.Path("/proc", part).exists() for part in name.split("-") if part.isdigit())

    def clean(self, case):
        for line in fault_commands.after(case):
            subprocess.run([self.fixture["program"], "--quiet", *self.fill(line).split()], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)

    def force(self, folder):
        """Puts back what the program did not, so that the next fault finds a clean machine."""
        for pid in self.own_processes():
            os.kill(pid, signal.SIGKILL)
        subprocess.run(["umount", "-l", str(folder / "mnt")], stderr=subprocess.DEVNULL, check=False)
        for backing in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
            text = backing.read_text(errors="replace") if backing.exists() else ""
            if str(folder) in text or f"/disks/{self.fixture['name']}/" in text:
                subprocess.run(["losetup", "-d", f"/dev/{backing.parts[3]}"], check=False)
        subprocess.run(["umount", "-l", f"/run/blksweep/disks/{self.fixture['name']}/fuse"], stderr=subprocess.DEVNULL, check=False)
        for kind in ("disks", "pins"):
            shutil.rmtree(f"/run/blksweep/{kind}/{self.fixture['name']}", ignore_errors=True)
        queue = pathlib.Path("/sys/block", pathlib.Path(self.fixture["loop"]).name, "queue")
        scheduler, ahead, requests = self.fixture["queue"]
        (queue / "scheduler").write_text(scheduler.partition("[")[2].partition("]")[0])
        (queue / "read_ahead_kb").write_text(ahead)
        (queue / "nr_requests").write_text(requests)

    def wait_gone(self, log):
        end = time.monotonic() + 5
        while time.monotonic() < end:
            if log.exists() and log.read_text().endswith("gone\n"):
                return
            time.sleep(0.005)
        for pid in self.own_processes():
            os.kill(pid, signal.SIGKILL)

    def baseline(self, case):
        """What is the same in every undisturbed run, and how often each call is made."""
        clean = [self.run(case, ["count"]) for _ in range(3)]
        for result, _, left, still in clean:
            if left or still or result.timed_out:
                sys.exit(f"{case}: an undisturbed run leaves {left} {still} {result.timed_out}")
            if any(status not in (0, 3) for status in result.statuses):
                sys.exit(f"{case}: an undisturbed run fails: {result.statuses} {result.said}")
        facts = clean[0][0].facts
        same = {key: value for key, value in facts.items() if all(r[0].facts.get(key, self) == value for r in clean)}
        uses = collections.Counter(tuple(line.split("\t")) for line in clean[0][1] if line != "gone")
        return clean[0][0].statuses, same, uses, set(facts)


def faults_of(uses, objects, draw):
    """(call, what, object, error, use), in random order."""
    by_call = collections.Counter()
    for (call, what, _), count in uses.items():
        by_call[call, what] += count
    faults = []
    for (call, what), count in by_call.items():
        for error in fault_commands.errors_of(call, what):
            faults += [(call, what or "-", "-", error, n) for n in sorted({1, min(2, count), count})]
    if objects:
        faults += [(call, what or "-", thing, error, 1) for call, what, thing in uses if thing
                   for error in draw.sample(fault_commands.errors_of(call, what), k=min(1, len(fault_commands.errors_of(call, what))))]
    draw.shuffle(faults)
    return faults


BAD = ("leaks", "hangs", "dies", "stays", "leaves", "silent", "differs")


def judge(call, error, result, left, still, baseline, lines):
    """(verdict, words): `equal`, `named`, or what did not hold."""
    statuses, same, _, known = baseline
    said = [text.splitlines()[-1] for status, text in zip(result.statuses, result.said) if status and text]
    words = " | ".join(said)[-400:]
    if result.timed_out:
        return "hangs", result.timed_out
    if "detected memory leaks" in "".join(result.said):
        leak = "".join(result.said)
        return "leaks", leak[leak.index("detected memory leaks"):][:600]
    if "Sanitizer: CHECK failed" in "".join(result.said):
        return "left out", "the sanitizer's own call"
    if finding := re.search(r"AddressSanitizer: (?!CHECK).*|: runtime error: .*", "".join(result.said)):
        return "dies", finding.group()
    if any(status >= 128 or status in (99, 127) for status in result.statuses):
        return "dies", f"{result.statuses} {words}"
    if still:
        return "stays", f"{still} {words}"
    answers = lines[0].startswith(fault_commands.ANSWERS)
    undoing = [status for status, line in zip(result.statuses, lines) if line.startswith(fault_commands.UNDOES)]
    told = any(word in "\n".join(result.said) for word in fault_commands.UNDOES)
    if left and not told and (not undoing or 0 in undoing):
        return "leaves", f"{left} {result.statuses} {words}"
    # 3 in an undisturbed run: a replay that others held back.
    if any(status != usual and (usual, status) != (3, 0) for status, usual in zip(result.statuses, statuses)):
        if not said:
            # The answer of doctor and of catalog --check is on stdout.
            return ("named", "on stdout") if answers else ("silent", f"{result.statuses}")
        first = said[0]
        good = first.startswith("blksweep: ") and os.strerror(getattr(errno, error)) in "\n".join(result.said)
        return "named" if good else "vague", words
    tolerated = fault_commands.TOLERATED.get(call, ("$^",))[0]
    same = {key: value for key, value in same.items() if not VOLATILE.search(key) and not re.search(tolerated, key)}
    changed = {key: result.facts.get(key, "(missing)") for key, value in same.items() if result.facts.get(key, "(missing)") != value}
    extra = [key for key in result.facts if key not in known and key.startswith("file ")]
    if not changed and not extra:
        return "equal", ""
    gone = all(value in (None, "(missing)") for value in changed.values()) and not extra
    if answers and not extra and any(key.endswith(".state") for key in changed):
        return "named", "on stdout"
    if answers and not extra and all(key.endswith(".found") for key in changed):
        return "equal", "seen in another way"
    new = set(result.facts) - known
    noted = (os.strerror(getattr(errno, error)) in "\n".join(result.said)
             or any(".warnings" in key or ".notes" in key for key in (*changed, *new)))
    text = "; ".join(f"{k}: {same[k]!r} -> {v!r}" for k, v in list(changed.items())[:6]) + f" {extra} " + "".join(result.said)[-200:]
    return ("unknown" if gone and not any(k.startswith("file ") for k in changed) else "differs") + (" and says so" if noted else ""), text


def sweep_case(sweep, case, options, done):
    """What became of how many faults in this session."""
    end = time.monotonic() + options.seconds
    verdicts = collections.Counter()
    baseline = sweep.baseline(case)
    draw = random.Random(f"{options.seed} {case}")
    uses = {use: count for use, count in baseline[2].items() if use[0] not in options.without.split(",")}
    for fault in faults_of(uses, options.objects, draw):
        call, what, thing, error, use = fault
        key = json.dumps([case, *fault])
        if key in done or time.monotonic() > end:
            continue
        for _ in range(2):
            result, log, left, still = sweep.run(case, [call, what, thing, str(getattr(errno, error)), str(use)])
            hit = next((line.split("\t")[3] for line in log if line.startswith("failed")), None)
            lines = fault_commands.CASES[case]
            verdict, words = judge(call, error, result, left, still, baseline, lines) if hit is not None else ("missed", "")
            if (call, error, hit) in fault_commands.IMPLAUSIBLE:
                verdict = "left out"
            if verdict not in (*BAD, "missed"):
                break
        with sweep.results.open("a") as out:
            out.write(json.dumps({"fault": [case, *fault], "object": hit, "verdict": verdict, "words": words}) + "\n")
        done.add(key)
        verdicts[verdict] += 1
    return dict(verdicts)


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("fixture")
    parser.add_argument("results")
    parser.add_argument("--only", default=",".join(fault_commands.CASES))
    parser.add_argument("--without", default="")  # what a sanitizer calls for itself
    parser.add_argument("--objects", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args(argv)
    results = pathlib.Path(options.results)
    sweep = Sweep(json.loads(pathlib.Path(options.fixture).read_text()), results)
    done = {json.dumps(json.loads(line)["fault"]) for line in results.open()} if results.exists() else set()
    for case in options.only.split(","):
        print(f"{case}: {sweep_case(sweep, case, options, done)}", flush=True)
    lines = [json.loads(line) for line in results.open()]
    for line in lines:
        if line["verdict"] in BAD:
            print("FAILED:", *line["fault"], line["object"], line["verdict"], line["words"][:200])
    calls = {(line["fault"][0], *line["fault"][1:3]) for line in lines}
    print(f"{len(lines)} faults of {len(calls)} calls in {len({c[0] for c in calls})} cases: " + ", ".join(
        f"{count} {verdict}" for verdict, count in collections.Counter(line["verdict"] for line in lines).most_common()))
    return 1 if any(line["verdict"] in BAD for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
