#!/usr/bin/python3
"""Checks sizes and words: functions of at most 70 lines, files of at most 400, comments of C++ of at
most 100 columns (the formatter leaves them alone: it would join what they line up), no postponed work.

Reads the files it is given. A C++ function is found by its layout (clang-format puts the closing
brace below the column of the line that opens it), which needs no parser and misses nothing that the
formatter has seen.
"""

import ast
import pathlib
import re
import sys

MAX_FUNCTION = 70
MAX_FILE = 400
MAX_LINE = 100
POSTPONED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b")
# Blocks that are no functions but may be as long as the file.
CONTAINER = re.compile(r"^\s*(namespace|class|struct|union|enum|extern \"C\")\b|[=(,]\s*\{$|R\"")


def cpp_functions(lines: list[str]) -> list[tuple[int, int]]:
    """(first line, length) of each outermost block that is no namespace, class or initialiser."""
    found = []
    at = 0
    while at < len(lines):
        line = lines[at]
        opens = line.endswith(" {") and not CONTAINER.search(line)  # "name{" initialises
        if opens and not line.lstrip().startswith(("#", "//", "}")):
            start = heading(lines, at)
            end = closing(lines, at, indent_of(lines[start]))
            found.append((start + 1, end - start + 1))
            at = end
        at += 1
    return found


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def heading(lines: list[str], at: int) -> int:
    """Index of the line on which the declaration begins whose `{` is on line `at`."""
    if lines[at].lstrip().startswith("["):
        return at  # a lambda among arguments or in a table
    while at > 0 and re.search(r"[\w,)>]$", lines[at - 1]) and not lines[at - 1].startswith("#"):
        if lines[at - 1].lstrip().startswith("//"):
            break
        at -= 1
    return at


def closing(lines: list[str], at: int, indent: int) -> int:
    """Index of the first line behind `at` that closes a block indented by `indent`."""
    for end in range(at + 1, len(lines)):
        if lines[end].startswith((" " * indent + "}", "}")):
            return end
    return len(lines) - 1


def py_functions(text: str) -> list[tuple[int, int]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds)]
    return [(n.lineno, (n.end_lineno or n.lineno) - n.lineno + 1) for n in nodes]


def sh_functions(lines: list[str]) -> list[tuple[int, int]]:
    starts = [i for i, line in enumerate(lines) if re.match(r"^[a-z_]+\(\) \{$", line)]
    return [(i + 1, closing(lines, i, 0) - i + 1) for i in starts]


def functions(path: pathlib.Path, text: str) -> list[tuple[int, int]]:
    lines = text.splitlines()
    if path.suffix in (".cpp", ".h", ".c", ".cu"):
        return cpp_functions(lines)
    if path.suffix == ".py":
        return py_functions(text)
    return sh_functions(lines)


def offences(path: pathlib.Path) -> list[str]:
    text = path.read_text()
    lines = text.splitlines()
    found = [
        f"{path}:{line}: a function of {length} lines; the limit is {MAX_FUNCTION}: split it"
        for line, length in functions(path, text)
        if length > MAX_FUNCTION
    ]
    if len(lines) > MAX_FILE:
        found.append(f"{path}:1: a file of {len(lines)} lines; the limit is {MAX_FILE}: split it")
    for number, line in enumerate(lines, start=1):
        if path.suffix in (".cpp", ".h") and len(line) > MAX_LINE and "//" in line and '"' not in line:
            found.append(f"{path}:{number}: a comment of {len(line)} columns; the limit is {MAX_LINE}: break it")
        if POSTPONED.search(line):
            found.append(f"{path}:{number}: postponed work; do it or open an issue")
    return found


def main(argv: list[str]) -> int:
    found = [line for name in argv for line in offences(pathlib.Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
