#!/usr/bin/python3
"""Runs test suites and ends in one line: "N passed, N failed, N skipped".

usage: scripts/run_tests.py --build DIR [--label TEXT] [--only NAMES] SUITE...
  unit root gpu   the GoogleTest programs DIR/unit_tests, DIR/root_tests and DIR/gpu_tests
  standin     DIR/gpu_tests on the stand-in for a GPU in DIR/standin
  cli         tests/cli/*.sh with $BLKSWEEP = DIR/blksweep; exit 0 passed, 77 skipped;
              --only 'NAME ...': only these scripts
  python      unittest: tests/figures/, tests/python/ and the own tests of scripts/lint/ and scripts/mutate/

Each suite ends in its own closing line and each skipped test says why. With CI=true or
BLKSWEEP_STRICT=1 a skip counts as a failure unless its reason names what CI's machines do not have:
a GPU, or a kernel with the device mapper (make test-guest has one).
exit: 0 nothing failed, 1 something failed.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_S = 1500  # the unit tests under ASan took 900 on a machine at a quarter of its speed
STRICT = os.environ.get("CI") == "true" or os.environ.get("BLKSWEEP_STRICT") == "1"
SKIPPED = 77
SIDE_BY_SIDE = "\n# Side by side: "  # in a script of tests/cli, with the reason
LANES = 3  # scripts at once: much of their time is waiting; with four no CPU was ever idle on a slow machine
BESIDE = ("unit", "standin", "python")  # suites that share the machine, too


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: "Tally") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def skip(self, name: str, reason: str) -> None:
        if STRICT and not re.search(r"\bGPU\b|\bno device mapper\b", reason):
            self.failed += 1
            print(f"  FAIL  {name}: skipped where nothing may be: {reason}")
        else:
            self.skipped += 1
            print(f"  skip  {name}: {reason}")

    def fail(self, name: str, reason: str) -> None:
        self.failed += 1
        print(f"  FAIL  {name}: {reason}")

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def run(command: list[str], env: dict[str, str]) -> tuple[int, str]:
    """Exit code and output; a command that hangs is ended with everything that it started."""
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **env}, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True,
    ) as child:
        try:
            output, _ = child.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # Asked first, so that traps clean up mounts.
            os.killpg(child.pid, signal.SIGTERM)
            try:
                output, _ = child.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                output, _ = child.communicate()
            return 124, output + f"\nended after {TIMEOUT_S} s"
        finally:
            if child.poll() is None:  # we are being ended ourselves, and it has a session of its own
                os.killpg(child.pid, signal.SIGKILL)
        return child.returncode, output


def indent(text: str, lines: int = 60) -> str:
    return "\n".join("        " + line for line in text.strip().splitlines()[-lines:])


def reason_of(text: str, default: str) -> str:
    """The line that says SKIP, else the last line."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    named = [line for line in lines if line.upper().startswith("SKIP")]
    line = (named or lines or [default])[-1]
    return re.sub(r"^skip(ped)?:?\s*", "", line, flags=re.IGNORECASE)


def skip_reason(node: ET.Element) -> str:
    # "path/x_test.cpp:12\nneeds root\n": the reason stands below the place.
    lines = [line for line in (node.text or node.get("message", "")).splitlines() if line.strip()]
    return " ".join(lines[1:] or lines) or "no reason given"


def gtest(build: pathlib.Path, suite: str) -> Tally:
    tally, env = Tally(), {}
    report = build / f"{suite}_tests.xml"
    report.unlink(missing_ok=True)
    program = str(build / f"{suite}_tests")
    if suite == "standin":
        program, env = str(build / "gpu_tests"), {"LD_LIBRARY_PATH": str((ROOT / build / "standin").resolve())}
    code, output = run([program, "--gtest_brief=1", f"--gtest_output=xml:{report}"], env)
    if not report.exists():
        tally.fail(program, f"ended with status {code} before its report\n" + indent(output))
        return tally
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            tally.fail(name, "see below")
        elif skipped is not None:
            tally.skip(name, skip_reason(skipped))
        elif case.get("status") == "run":
            tally.passed += 1
    if tally.failed == 0 and code != 0:
        tally.fail(program, f"all tests passed, yet it ended with status {code}")
    if tally.failed:
        print(indent(output, 200))
    if tally.passed + tally.failed + tally.skipped == 0:
        print(f"  note  {program} holds no tests")
    return tally


def cli_scripts(only: list[str]) -> list[pathlib.Path]:
    folder = ROOT / "tests/cli"
    found = [folder / f"{name}.sh" for name in only] if only else sorted(folder.glob("*.sh"))
    if missing := [s.stem for s in found if not s.exists()]:
        raise SystemExit(f"run_tests: no script tests/cli/{missing[0]}.sh: --only takes their names without .sh")
    return found


def shares_the_machine(script: pathlib.Path) -> bool:
    """Whether a script says that it may run beside others: it neither judges caches of the whole
    node, nor times, nor counts of requests of a disk that is not its own."""
    return SIDE_BY_SIDE in script.read_text(encoding="utf-8")


def run_script(script: pathlib.Path, env: dict[str, str]) -> tuple[pathlib.Path, int, str, float]:
    begin = time.monotonic()
    code, output = run(["bash", str(script)], env)
    return script, code, output, time.monotonic() - begin


def cli(build: pathlib.Path, only: list[str], beside: list[str]) -> tuple[Tally, Tally]:
    """Its own tally, and that of the suites that ran beside the scripts which share the machine."""
    tally, others = Tally(), Tally()
    env = {"BLKSWEEP": str((ROOT / build / "blksweep").resolve()), "BUILD": str(build)}
    scripts = cli_scripts(only)
    shared = [s for s in scripts if shares_the_machine(s)]
    alone = [s for s in scripts if s not in shared]
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        suites = [lanes.submit(run_suite, s, build) for s in beside]
        for result in lanes.map(lambda s: run_script(s, env), shared):
            count_script(tally, *result)
        for suite in suites:
            others.add(suite.result())
    for script in alone:
        count_script(tally, *run_script(script, env))
    return tally, others


def count_script(tally: Tally, script: pathlib.Path, code: int, output: str, seconds: float) -> None:
    name = str(script.relative_to(ROOT))
    print(f"   {seconds:6.1f} s  {name}", flush=True)
    if code == SKIPPED:
        tally.skip(name, reason_of(output, "no reason given"))
    elif code == 0:
        tally.passed += 1
    else:
        tally.fail(name, f"status {code}\n" + indent(output))


def unittest_tally(name: str, code: int, output: str) -> Tally:
    tally = Tally()
    ran = re.search(r"^Ran (\d+) tests?", output, re.MULTILINE)
    if not ran:
        tally.fail(name, f"status {code}\n" + indent(output))
        return tally
    reasons = re.findall(r"^(\S+) .*\.\.\. skipped ['\"](.*)['\"]$", output, re.MULTILINE)
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", output))
    for test, reason in reasons:
        tally.skip(f"{name} {test}", reason)
    tally.failed += bad
    tally.passed = max(0, int(ran.group(1)) - bad - len(reasons))
    if bad or (code != 0 and not tally.failed):
        tally.failed = max(1, tally.failed)
        print(f"  FAIL  {name}\n" + indent(output, 200))
    return tally


def python(build: pathlib.Path) -> Tally:
    tally = Tally()
    config = (ROOT / build / "matplotlib").resolve()
    config.mkdir(parents=True, exist_ok=True)
    env = {"MPLBACKEND": "Agg", "MPLCONFIGDIR": str(config), "PYTHONDONTWRITEBYTECODE": "1"}
    env["PYTHONPATH"] = str((ROOT / build / "python").resolve())
    for folder, pattern in (("tests/figures", "*test*.py"), ("tests/python", "*_test.py"), ("scripts/lint", "*_test.py"), ("scripts/mutate", "*_test.py")):
        if any((ROOT / folder).glob(pattern)):
            command = [sys.executable, "-m", "unittest", "discover", "-v", "-s", folder, "-p", pattern]
            tally.add(unittest_tally(folder, *run(command, env)))
    return tally


def run_suite(suite: str, build: pathlib.Path, only: list[str] = (), beside: list[str] = ()) -> Tally:
    """Ends in the suite's closing line; what runs beside it counts, too, and has its own."""
    print(f"-- {suite}", flush=True)
    begin, others = time.monotonic(), Tally()
    if suite == "cli":
        tally, others = cli(build, only, beside)
    else:
        tally = python(build) if suite == "python" else gtest(build, suite)
    print(f"   {suite}: {tally} ({time.monotonic() - begin:.1f} s)", flush=True)
    tally.add(others)
    return tally


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--label", default="", help="put before the last line")
    parser.add_argument("--only", default="", help="names of the cli scripts to run")
    parser.add_argument("suites", nargs="+", choices=["unit", "root", "gpu", "standin", "cli", "python"])
    options = parser.parse_args(argv)
    # Under nohup, or in a job whose parent ignores it, tests would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    total = Tally()
    beside = [s for s in options.suites if s in BESIDE and "cli" in options.suites]
    for suite in options.suites:
        if suite not in beside:
            total.add(run_suite(suite, options.build, options.only.split(), beside))
    print(f"{options.label}{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
