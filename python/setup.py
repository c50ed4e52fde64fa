"""Builds the module with the project's Makefile, for the Python that asks; the rest is in pyproject.toml."""
import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

TOP = pathlib.Path(__file__).resolve().parent.parent
LEFT = TOP / "build/pip"  # everything that is built goes under build/
LEFT.mkdir(parents=True, exist_ok=True)


class Make(build_ext):
    def build_extension(self, ext):
        jobs = f"-j{os.cpu_count()}"
        subprocess.run(["make", "-C", TOP, jobs, "python", f"PYTHON={sys.executable}"], check=True)
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / "build/python/blksweep/_native.so", target)


setup(ext_modules=[Extension("blksweep._native", [])], cmdclass={"build_ext": Make},
      options={"build": {"build_base": str(LEFT)}, "egg_info": {"egg_base": str(LEFT)}})
