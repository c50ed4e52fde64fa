"""The package installed with pip, in an environment of its own, away from the checkout."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import blksweep
from data import DataTest

BUILD = pathlib.Path(blksweep.__file__).resolve().parent.parent.parent
SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
LOOP = """
import sys, blksweep
assert blksweep.__file__.startswith(sys.prefix), blksweep.__file__
loader = blksweep.Loader(sys.argv[1], order="chunked", shuffle="reservoir", window="20%", batch_size=64)
print(sum(len(batch) for batch in loader), sum(int(batch.concat()[0].sum(dtype="int64")) for batch in loader))
"""


def run(*command, **options):
    ran = subprocess.run(command, capture_output=True, text=True, **options)
    if ran.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: {ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
    return ran.stdout


@unittest.skipUnless(BUILD == SOURCES.parent / "build", "pip builds into build/, and this is another build folder")
class Package(DataTest):
    def test_installs_and_runs_in_a_clean_environment(self):
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
        with tempfile.TemporaryDirectory(prefix="blksweep-test-") as temp:
            run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", temp, SOURCES)
            wheel, = pathlib.Path(temp).glob("blksweep-*.whl")
            # NumPy is the system's: there need not be a network.
            run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", f"{temp}/env")
            python = f"{temp}/env/bin/python"
            run(*pip, "--python", python, "install", "--no-index", "--no-deps", wheel)
            clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            out = run(python, "-c", LOOP, self.folder, env=clean, cwd=temp)
            total = sum(sum(self.bytes_of(i)) for i in range(300))
            self.assertEqual(out.split(), ["300", str(total)])


if __name__ == "__main__":
    unittest.main()
