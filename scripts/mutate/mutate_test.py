"""Each worker's tree stands for itself."""
import os
import pathlib
import tempfile
import unittest

import mutate


class OwnHeaders(unittest.TestCase):
    def test_precompiled_headers_are_of_the_tree_that_has_them_and_nothing_is_made_anew(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder).resolve()
            (tree / "Makefile").write_text("build/pch/%.gch:\n\t@pwd > $@\n")
            (tree / "build/pch").mkdir(parents=True)
            for name in ("src.h.gch", "tests.h.gch"):
                (tree / "build/pch" / name).write_text("/another/tree\n")
                os.utime(tree / "build/pch" / name, ns=(5, 5))
            mutate.make_own_headers(tree)
            for name in ("src.h.gch", "tests.h.gch"):
                self.assertEqual((tree / "build/pch" / name).read_text(), f"{tree}\n")
                self.assertEqual((tree / "build/pch" / name).stat().st_mtime_ns, 5)


if __name__ == "__main__":
    unittest.main()
