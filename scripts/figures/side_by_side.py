"""Figures side by side: each takes a second of one CPU, and knows nothing of the others."""
import concurrent.futures
import multiprocessing
import os

import style

MOST = 8  # a process more is 100 MB more
work = None  # (function, items), of processes that begin as copies of this one


def apply(index):
    function, items = work
    return function(items[index])


def mapped(function, items):
    """[function(item)], in processes that see what this one sees; what one raises is raised here, and its result has to be plain values."""
    global work
    workers = min(len(items), len(os.sched_getaffinity(0)), MOST)
    if workers < 2:
        return [function(item) for item in items]
    style.pyplot()  # loaded once
    work = function, items
    try:
        with concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
            return list(pool.map(apply, range(len(items))))
    finally:
        work = None
