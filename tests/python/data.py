"""A small data set of this test run alone, and what its files hold."""
import faulthandler
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import blksweep

BUILD = pathlib.Path(blksweep.__file__).resolve().parent.parent.parent
PROGRAM = pathlib.Path(os.environ.get("BLKSWEEP") or BUILD / "blksweep").resolve()
faulthandler.dump_traceback_later(600, exit=True)  # all of them take three minutes: a loop that hangs says where
CASES = int(os.environ.get("PYTHON_CASES", "40"))  # of each property; more in make soak
WINDOWED = {"order": "chunked", "chunk": "64KiB", "shuffle": "reservoir", "window": "20%", "batch_size": 16}


class DataTest(unittest.TestCase):
    """`self.folder`: 300 files of odd sizes in classes; `self.catalog`: the same, opened."""

    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.mkdtemp(prefix="blksweep-test-")
        cls.folder = os.path.join(cls.temp, "data")
        make(cls.folder, "lognormal:3KiB:0.5")
        cls.catalog = blksweep.Catalog(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.temp)

    def bytes_of(self, sample):
        return contents(self.catalog.file_of(sample))

    def loader(self, **options):
        return blksweep.Loader(self.catalog, **{**WINDOWED, **options})


@functools.lru_cache(maxsize=1000)
def contents(path):
    return pathlib.Path(path).read_bytes()


def make(folder, size, count=300):
    subprocess.run([PROGRAM, "--quiet", "dataset", "make", folder, "--count", str(count), "--size", size], check=True,
                   stdout=subprocess.DEVNULL)


def indices(loader):
    """Of all samples of one loop."""
    return [int(i) for batch in loader for i in batch.indices]
