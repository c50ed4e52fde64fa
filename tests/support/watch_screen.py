#!/usr/bin/python3
"""Runs a program on a terminal of its own and tells what became of it.

usage: watch_screen.py COLUMNSxROWS ACTION PROGRAM...
  ACTION  wait | key:q | key:^C | key:^Z | signal:TERM | signal:KILL | resize:COLUMNSxROWS

The action comes after the third screen that was drawn; a program that was resized gets a "q" after the next
screen. The answer is one JSON line: exit status, whether the terminal is as it was (its settings, the cursor,
the first screen), and the screens as lists of lines.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

HOME = b"\x1b[H"
DEADLINE_S = 60


def size_of(word: str) -> tuple[int, int]:
    columns, rows = word.split("x")
    return int(columns), int(rows)


def set_size(fd: int, word: str) -> None:
    columns, rows = size_of(word)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def act(action: str, terminal: int, child: int) -> None:
    kind, _, what = action.partition(":")
    if kind == "key":
        os.write(terminal, bytes([ord(what[1]) & 31]) if what.startswith("^") else what.encode())
    elif kind == "signal":
        os.kill(child, getattr(signal, "SIG" + what))
    elif kind == "resize":
        set_size(terminal, what)


def start(size: str, program: list[str]) -> tuple[int, int, int, list]:
    terminal, side = pty.openpty()
    set_size(terminal, size)
    before = termios.tcgetattr(side)
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(side, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(side, fd)
        os.execvpe(program[0], program, {**os.environ, "TERM": "xterm"})
    return terminal, side, child, before


def screens_of(seen: bytes) -> list[list[str]]:
    out = []
    for part in seen.split(HOME)[1:]:
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part.split(b"\x1b[?7h")[0].decode())
        out.append(text.replace("\r", "").split("\n"))
    return out


def main(argv: list[str]) -> int:
    size, action, program = argv[0], argv[1], argv[2:]
    terminal, side, child, before = start(size, program)
    seen, acted, asked, status = b"", 0, False, None
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end and status is None:
        if select.select([terminal], [], [], 0.05)[0]:
            seen += os.read(terminal, 65536)
        else:
            done, code = os.waitpid(child, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if done else None
        drawn = seen.count(HOME)
        if not acted and drawn >= 3:
            act(action, terminal, child)
            acted = drawn
        elif acted and not asked and action.startswith(("resize", "key:^Z")) and drawn > acted + 1:
            act("key:q", terminal, child)
            asked = True
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    whole = {
        "settings": termios.tcgetattr(side) == before,
        "cursor": seen.rfind(b"\x1b[?25h") > seen.rfind(b"\x1b[?25l"),
        "wrap": seen.rfind(b"\x1b[?7h") > seen.rfind(b"\x1b[?7l"),
        "screen": seen.rfind(b"\x1b[?1049l") > seen.rfind(b"\x1b[?1049h"),
    }
    after = seen[seen.rfind(b"\x1b[?1049l") :].decode()
    answer = {"status": status, "whole": whole, "given_back": seen.count(b"\x1b[?1049l"),
              "screens": screens_of(seen), "after": after}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
