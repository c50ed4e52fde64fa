#!/usr/bin/env python3
"""Runs a program for which seccomp answers one system call with an error.

    refuse_call.py NUMBER ERRNO PROGRAM [ARGUMENT...]

exit: 99 where seccomp itself is refused, else the program's.
"""
import ctypes
import os
import struct
import sys

number, errno = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errno), (0x06, 0, 0, 0x7FFF0000)]
buffer = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))


class Fprog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


fprog = Fprog(len(code), ctypes.addressof(buffer))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(fprog), 0, 0):
    sys.exit(99)
os.execvp(sys.argv[3], sys.argv[3:])
