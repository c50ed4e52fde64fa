"""What an axis or a table calls MiB and ms is 2^20 bytes and 10^6 ns."""
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures")]

import dots  # noqa: E402
import first_batch  # noqa: E402
import page  # noqa: E402
import page_cache  # noqa: E402
import style  # noqa: E402


class Units(unittest.TestCase):
    def test_a_mib_is_a_power_of_two_everywhere(self):
        self.assertEqual({page.MIB, page_cache.MIB, style.MIB}, {2**20})

    def test_the_axis_of_first_batches_is_in_ms(self):
        with mock.patch.object(dots, "rows", side_effect=InterruptedError) as rows:
            with self.assertRaises(InterruptedError):
                first_batch.draw({1: [5_000_000]}, [None], None)
        self.assertEqual(rows.call_args.args[2:], ("first_batch_ns", {1: [5_000_000]}, 1e6))


if __name__ == "__main__":
    unittest.main()
