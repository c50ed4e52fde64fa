"""Figures side by side: each takes a second of one CPU, and knows nothing of the others.

Copies of this process and pipes, no pool: the threads of one that lacks memory are waited for without end,
and its processes outlive whoever began them.
"""
import ctypes
import os
import pickle
import signal
import traceback

import load
import style

MOST = 8  # a process more is 100 MB more
PR_SET_PDEATHSIG = 1


def end_with(parent):
    """Whatever ends it: nobody is left who wants the figures."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def answer(function, items, parent, pipe):
    """Of a copy: what it found, or why it found nothing."""
    try:
        end_with(parent)
        said = [function(item) for item in items], None
    except Exception as error:
        traceback.print_exc()
        said = None, error
    with open(pipe, "wb") as out:
        pickle.dump(said, out)


def begin(function, items):
    """(process, pipe), or None where there can be no more processes."""
    parent = os.getpid()
    there, here = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(there)
        os.close(here)
        return None
    if child:
        os.close(here)
        return child, there
    status = 1
    try:
        os.close(there)
        answer(function, items, parent, here)
        status = 0
    finally:
        os._exit(status)  # the rest of this program is its parent's


def result(helper):
    child, pipe = helper
    with open(pipe, "rb", closefd=False) as told:
        text = told.read()
    if not text:
        raise load.Unwritten(f"figures: process {child}, which drew some of them, was ended (memory?)")
    found, error = pickle.loads(text)
    if error:
        raise error
    return found


def end(helper):
    child, pipe = helper
    os.close(pipe)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def mapped(function, items):
    """[function(item)], in processes that see what this one sees; what one raises is raised here, and its result has to be plain values."""
    workers = max(1, min(len(items), len(os.sched_getaffinity(0)), MOST))
    if workers > 1:
        style.pyplot()  # loaded once
    results = [None] * len(items)
    helpers = []
    try:
        for number in range(1, workers):
            helpers.append(begin(function, items[number::workers]))
        results[::workers] = [function(item) for item in items[::workers]]
        for number, helper in enumerate(helpers, 1):
            share = items[number::workers]
            results[number::workers] = result(helper) if helper else [function(item) for item in share]
        return results
    finally:
        for helper in filter(None, helpers):
            end(helper)
