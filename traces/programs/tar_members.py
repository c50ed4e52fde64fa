#!/usr/bin/python3
"""Makes a tar of a folder's files, or reads its members in order: tar_members.py make FOLDER FILE | read FILE"""

import sys
import tarfile


def make(folder, path):
    with tarfile.open(path, "w") as tar:
        tar.add(folder, arcname="data")


def read(path):
    with tarfile.open(path, "r:") as tar:
        print(sum(len(tar.extractfile(member).read()) for member in tar if member.isfile()))


if __name__ == "__main__":
    {"make": make, "read": read}[sys.argv[1]](*sys.argv[2:])
