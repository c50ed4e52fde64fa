#!/usr/bin/python3
"""Checks that a folder of src/ includes only folders on lower layers.

Prints one line per offence ("src/base/units.h:29: base must not include cli") and exits 1.
The table is the one of docs/architecture.md.
"""

import pathlib
import re
import sys

# Lowest first; folders on one line are siblings and do not know each other.
LAYERS = [
    {"base"},
    {"stats", "os", "codec"},
    {"plan", "model"},
    {"io", "probe", "stage", "trace", "store", "disk", "dataset"},
    {"loader"},
    {"node"},
    {"simulate", "map", "doctor", "replay", "record", "ranks"},
    {"experiment", "rig"},
    {"cli"},
    {"mpi"},
]
RANK = {folder: rank for rank, layer in enumerate(LAYERS) for folder in layer}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/[^"]*"')


def may_include(folder: str, other: str) -> bool:
    return folder == other or RANK[other] < RANK[folder]


def offences(path: pathlib.Path, folder: str) -> list[str]:
    if folder not in RANK:
        return [f"{path}:1: folder {folder} has no layer in scripts/lint/layers.py"]
    found = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        other = match.group(1) if match else folder
        # wire/ is ebpf/wire: event layouts that the kernel side and the probe share.
        if other == "wire":
            if folder != "probe":
                found.append(f"{path}:{number}: {folder} must not include wire; probe hides it")
        elif other not in RANK:
            found.append(f"{path}:{number}: {other} has no layer in scripts/lint/layers.py")
        elif not may_include(folder, other):
            found.append(f"{path}:{number}: {folder} must not include {other}")
    return found


def main(argv: list[str]) -> int:
    root = pathlib.Path(argv[0] if argv else "src")
    files = sorted(p for p in root.glob("*/**/*") if p.suffix in (".h", ".cpp", ".cu", ".inc"))
    found = [line for p in files for line in offences(p, p.relative_to(root).parts[0])]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
