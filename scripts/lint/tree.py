#!/usr/bin/python3
"""Checks what the tree holds, file by file: nothing dead, nothing large, one heading a page.

Prints one line per offence ("docs/x.md: 2 first-level headings") and exits 1.
  heads     a page has one first-level heading, and it is its first line
  size      no file that git tracks is larger than 512 KiB
  modes     what begins with #! is executable, and nothing else is
  headers   each header of src/ is included by another file
  functions each function that a header declares is used beside its definition
  types     a namespace has one definition of a type name; each .cpp has its anonymous namespace for more
  top       nothing stands at the top but what has its place there
  words     what has another name now is not written any more (docs/glossary.md)
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

LARGEST = 512 << 10
TOP = {"Makefile", "README.md", "LICENSE", "NOTICE",
       "src", "ebpf", "python", "scripts", "traces", "tests", "docs"}  # and what begins with a dot
# What stood there -> what stands there now.
RETIRED = {
    r"\brun_epoch\b": "Epoch::run",
    r"\bPlannedCell\b": "PlannedEpoch",
    r"\bplan_cell\b": "plan_epoch",
    r"\bdevice_bytes_per_byte\b": "read_amplification",
    r"\bread/used\b": "read amplification",
    r"(?<![\w.])lab/": "loader/, simulate/, map/, doctor/ or experiment/",
}
TEXT = (".h", ".cpp", ".cu", ".inc", ".py", ".sh", ".bash", ".md", ".mk", ".toml")
# Called by name from elsewhere than C++: the standard's hooks and libFuzzer's.
HOOKS = {"main", "LLVMFuzzerTestOneInput"}
DECLARED = re.compile(r"^(?:\[\[nodiscard\]\] )?[A-Za-z_][\w:<>,&* ]*?[ &*]([a-z_]\w*)\([^;{}]*\)[^;{}]*;", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
# clang-format puts both in column 0, and closes a namespace with its comment.
SCOPE = re.compile(r"^namespace ?(?P<opens>[\w:]*) \{$|^\}  // namespace", re.M)
TYPE = re.compile(r"^(?:template <[^{};]*>\s+)?(?:struct|class|union|enum(?: class| struct)?) (?:\[\[\w+\]\] |alignas\([^)]*\) )*"
                  r"(?P<type>[A-Za-z_][\w:]*)(?: final)?(?:\s*:[^{};]*)?\s*\{", re.M)


def headings(page: str) -> int:
    outside = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    return len(re.findall(r"^# ", outside, re.M))


def check_page(path, text):
    count = headings(text)
    if count != 1:
        yield f"{path}: {count} first-level headings"
    elif not text.startswith("# "):
        yield f"{path}: its heading is not its first line"


def check_mode(path, executable, head):
    if (head == b"#!") != executable:
        yield f"{path}: {'executable without #!' if executable else '#! without being executable'}"


def check_top(path):
    first = path.split("/")[0]
    if first not in TOP and not first.startswith("."):
        yield f"{path}: nothing else stands at the top: move it into a folder"


def check_words(path, text):
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, now in RETIRED.items():
            if re.search(pattern, line):
                yield f"{path}:{number}: '{re.search(pattern, line).group(0)}' is {now} now"


def check_headers(sources):
    included = collections.Counter(
        name for text in sources.values() for name in re.findall(r'#include ["<]([^">]+)[">]', text))
    for path in sources:
        if path.startswith("src/") and path.endswith(".h"):
            name = path.removeprefix("src/")
            own = f'#include "{name}"' in sources.get(path[:-2] + ".cpp", "")
            if included[name] - own <= 0 and "precompiled" not in name and name != "loader/loader.h":
                yield f"{path}: no other file includes it"


def check_functions(sources):
    uses = collections.Counter()
    for text in sources.values():
        uses.update(WORD.findall(re.sub(r"//[^\n]*", "", text)))
    for path, text in sources.items():
        if path.startswith("src/") and path.endswith(".h"):
            for name in DECLARED.findall(re.sub(r"//[^\n]*", "", text)):
                # Its declaration and its definition; an operator or an overload has more of both.
                if uses[name] <= 2 and name not in HOOKS:
                    yield f"{path}: {name}() is declared and not used"


def linked_types(text):
    """(line, qualified name) of each type that the linker takes for the same as one of that name elsewhere."""
    scopes = []
    marks = [*SCOPE.finditer(text), *TYPE.finditer(text)]
    for mark in sorted(marks, key=re.Match.start):
        if mark.re is TYPE:
            if "" not in scopes:
                yield text.count("\n", 0, mark.start()) + 1, "::".join([*scopes, mark["type"]])
        elif mark["opens"] is None:
            scopes.pop()
        else:
            scopes.append(mark["opens"])


def check_types(sources):
    """Two types of one name are no error to compiler and linker: one's inline functions serve both."""
    first = {}
    for path, text in sources.items():
        for line, name in linked_types(text):
            if name in first:
                yield f"{path}:{line}: {name} is defined in {first[name]}, too"
            first.setdefault(name, f"{path}:{line}")


def tracked(root):
    names = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=root, check=True,
                           capture_output=True, text=True).stdout
    return [name for name in names.split("\0") if name and (root / name).is_file()]


def offences(root):
    sources = {}
    for name in tracked(root):
        path = root / name
        yield from check_top(name)
        if path.stat().st_size > LARGEST:
            yield f"{name}: {path.stat().st_size >> 10} KiB, more than {LARGEST >> 10}"
        with open(path, "rb") as file:
            yield from check_mode(name, os.access(path, os.X_OK) and bool(path.stat().st_mode & 0o111), file.read(2))
        if not name.endswith(TEXT) or "/seeds/" in name:
            continue
        text = path.read_text(errors="replace")
        if name.endswith(".md") and (name.startswith("docs/") or "/" not in name):
            yield from check_page(name, text)
        if name not in ("scripts/lint/tree.py", "scripts/lint/lint_test.py", "docs/glossary.md"):
            yield from check_words(name, text)
        if name.startswith(("src/", "tests/", "ebpf/")) and name.endswith((".h", ".cpp", ".inc", ".cu")):
            sources[name] = text
    yield from check_headers(sources)
    yield from check_functions(sources)
    # A program of BPF is linked with nothing; the layouts in wire/ are read by us, too.
    yield from check_types({path: text for path, text in sources.items() if re.match("src/|tests/|ebpf/wire/", path)})


def main(argv):
    found = sorted(set(offences(pathlib.Path(argv[0] if argv else "."))))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
