"""Texts of a paper are letters whatever they hold, its numbers are those that it was given, in the fonts it names."""
import contextlib
import dataclasses
import pathlib
import re
import shlex
import sqlite3
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures"), str(ROOT / "tests/support")]

import common  # noqa: E402
import demo_db as demo  # noqa: E402
import fonts  # noqa: E402
import load  # noqa: E402
import page  # noqa: E402
import paper  # noqa: E402
import paper_data  # noqa: E402
import paper_tables  # noqa: E402
import paper_words  # noqa: E402
import quality  # noqa: E402
import style  # noqa: E402
import tex  # noqa: E402

HOSTILE = ["\\input{/etc/passwd}", "$(reboot)", "a\nb%c", "\\end{document}", "^^5cinput x", "{", "}}", "#1", "a--b", "\\",
           "日本\u202e", "é µ×…", "`id`", '"', "~_&|<>"]
COMMANDS = ("textbackslash", "ensuremath", "lbrace", "rbrace", "mathdollar", "textasciicircum", "textasciitilde",
            "textless", "textgreater", "textbar", "times", "mu", "ldots")


class Texts(unittest.TestCase):
    def test_no_text_is_a_command(self):
        for text in HOSTILE:
            out = tex.escape(text)
            self.assertTrue(out.isascii(), out)
            self.assertNotIn("\n", out)
            self.assertEqual(out.count("{"), out.count("}"))
            for command in re.findall(r"\\([A-Za-z]+)", out):
                self.assertIn(command, COMMANDS, out)
            rest = re.sub(r"\\(?:[A-Za-z]+|[%&#_'\"`^~])", "", out)
            self.assertNotRegex(rest, r"[\\$%#&^_~]", out)

    def test_what_latex_has_comes_out_as_it_is(self):
        self.assertEqual(tex.escape("lba + device 10%"), r"lba + device 10\%")
        self.assertEqual(tex.escape("24 %"), r"24\,\%")
        self.assertEqual(tex.escape("--margin"), "-{}-margin")
        self.assertEqual(tex.escape("é"), r"\'{e}")
        self.assertEqual(tex.escape("日"), "U+65E5")

    def test_all_digits_without_an_exponent(self):
        for value in (0.0, 1.0, -3.5, 1e-9, 1.234567890123456e-7, 9.071600151589359e-21, 26082.78815198216, 641010601.6231136, 2.0**60):
            text = paper_tables.exact(value)
            self.assertNotIn("e", text)
            self.assertAlmostEqual(float(text), value, delta=abs(value) * 1e-14)


class Keys(unittest.TestCase):
    def shown(self, *labels):
        cells = [load.Cell(n, label, n == 1, 1, {}, {}) for n, label in enumerate(labels, 1)]
        return paper_tables.Shown(cells, None, {1: {"ratio": "2.73", "ratio_low": "2.70", "ratio_high": "2.76"}}, {})

    def test_every_cell_has_a_key_of_its_own(self):
        keys = self.shown("lba + device", "lba/device", "日本", "fact").keys
        self.assertEqual(list(keys.values()), ["lba-device", "lba-device-2", "cell-3", "fact-4"])

    def test_is_no_other_cells_when_a_label_ends_in_the_number_of_a_cell(self):
        keys = self.shown("arm a.3", "arm a", "arm A", "caption").keys
        self.assertEqual(list(keys.values()), ["arm-a-3", "arm-a", "arm-a-3-3", "caption-4"])

    def test_a_number_is_the_text_that_was_given_and_unknown_is_not_there(self):
        shown = self.shown("lba", "path")
        text = paper_tables.cell_numbers(shown, shown.cells[0])
        self.assertIn(r"\blkput{lba}{ratio-interval}{[2.70, 2.76]}", text)
        self.assertNotIn("ratio", paper_tables.cell_numbers(shown, shown.cells[1]))


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(style.use, style.Look())
        self.out = pathlib.Path(folder.name)

    def test_labels_in_a_pgf_file_are_escaped_and_pictures_found(self):
        style.use(style.Look(width=style.SINGLE, formats=(".pgf", ".pdf"), settings=fonts.settings("cm", self.out)))
        fig, ax = style.pyplot().subplots(layout="constrained")
        ax.scatter([0, 1], [0, 1], rasterized=True)
        ax.set_title("\\input{x} $y$")
        style.save(fig, self.out / "figures" / "one")
        text = (self.out / "figures/one.pgf").read_text(encoding="utf-8")
        self.assertIn(r"\textbackslash{}input\ensuremath{\lbrace}x", text)
        self.assertNotIn(r"\input{x}", text)
        self.assertIn(r"{\blkpath figures/one-img0.png}", text)
        self.assertTrue((self.out / "figures/one-img0.png").exists())
        self.assertIn(fonts.NAME.encode(), (self.out / "figures/one.pdf").read_bytes())

    def test_the_font_has_the_signs_at_their_places(self):
        from matplotlib.ft2font import FT2Font
        font = FT2Font(str(fonts.make_cm(self.out)))
        for sign in "<>_{}|×–µ−é0aZ":
            self.assertIn(ord(sign), font.get_charmap(), sign)
        self.assertEqual(font.get_glyph_name(font.get_charmap()[ord("<")]), "less")

    def test_the_axis_of_values_is_as_it_was_asked_for(self):
        for axis, scale in (("linear", "linear"), ("log", "log"), ("auto", "log")):
            style.use(style.Look(axis=axis))
            _, ax = style.pyplot().subplots()
            style.measured(ax.xaxis, 1, 50, "log")
            self.assertEqual(ax.get_xscale(), scale)


class Words(unittest.TestCase):
    """What is said of runs is said of those that are shown."""
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.db = pathlib.Path(folder.name) / "a.db"
        demo.main([str(self.db), "--repeats", "1", "--cells", "1", "--disks", "2"])

    def cells(self, *ids, **settings):
        return [load.Cell(n, f"c{n}", False, 1, {}, {"disk": f"d{n}", **settings}) for n in ids]

    def change(self, *commands):
        with contextlib.closing(sqlite3.connect(self.db)) as db, db:
            for command in commands:
                db.execute(command)

    def test_an_epoch_is_one_of_all_that_a_run_read(self):
        once = paper_words.data_set(self.db, self.cells(1, epochs="1"))
        self.change("UPDATE run SET samples = 3 * samples, bytes = 3 * bytes WHERE cell_id = 1")
        self.assertEqual(paper_words.data_set(self.db, self.cells(1, epochs="3")), once)

    def test_a_caption_of_shuffling_says_what_its_measures_are(self):
        for name in quality.MEASURES:
            values = {other: 0.9 for other in quality.MEASURES} | {name: 0.5}
            cell = load.Cell(1, "c", False, 1, values, {})
            text = quality.describe({1: [(0.5, name, 1.0)]}, [cell])
            said = {other for other in quality.MEASURES if quality.sentence(other)[1:] in text}
            self.assertEqual(said, {name}, "the least measure alone, which the legend names")
        for name in ("quality_displacement", "quality_label_mix"):  # columns of the table
            self.assertIn(quality.DEFINITIONS[name].split(" is ")[1], paper_words.TABLE_WORDS["shuffle"])

    def test_fio_and_probes_of_other_experiments_are_not_beside_these_runs(self):
        self.assertEqual(len(paper_words.others_words(self.db, self.cells(1))), 2)
        for table in ("fio", "probe"):
            self.change(f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM run WHERE cell_id = 1)")
        self.assertEqual(paper_words.others_words(self.db, self.cells(1)), [])
        self.assertIn("Beside 1 of 2 runs", paper_words.others_words(self.db, self.cells(1, 2))[0])
        self.assertIn("in 1 run ", paper_words.others_words(self.db, self.cells(1, 2))[1])

    def test_fio_is_said_to_read_as_it_did(self):
        groups, one_by_one = "in the same order and groups.", "in the same order, one read at a time."
        self.assertTrue(paper_words.others_words(self.db, self.cells(1))[0].endswith(groups))
        self.change("UPDATE fio SET arm = 'plain' WHERE run_id IN (SELECT run_id FROM run WHERE cell_id = 1)")
        self.assertTrue(paper_words.others_words(self.db, self.cells(1))[0].endswith(one_by_one))
        both = paper_words.others_words(self.db, self.cells(1, 2))
        self.assertIn(groups, both[0])
        self.assertIn(one_by_one, both[1])

    def test_ceilings_of_a_disk_are_those_of_all_its_experiments(self):
        cells = [dataclasses.replace(c, settings={}) for c in self.cells(1, 2)]
        self.assertEqual(load.ceilings(load.load_facts(self.db, cells[:1]))[0].rounds, 3)
        self.assertEqual(load.ceilings(load.load_facts(self.db, cells))[0].rounds, 6)

    def test_a_verdict_on_fio_is_on_the_page_and_explained_in_the_caption(self):
        values = {"fio_ratio": 0.9, "fio_ratio_low": 0.85, "fio_ratio_high": 0.95}
        slower = dataclasses.replace(self.cells(1)[0], values=values, fio_verdict="slower")
        hidden = dataclasses.replace(slower, cell_id=2, values={**values, "fio_detectable": 0.12}, fio_verdict="not shown")
        facts = load.load_facts(self.db, self.cells(1))
        shown = page.results([slower, hidden], facts)
        for words in ("against fio", "0.90 [0.85, 0.95]", "slower", ">not shown<", "2 comparisons of their own"):
            self.assertIn(words, shown)
        self.assertIn("among 2;", paper_words.METHODS["device"](paper_tables.Shown([slower, hidden], facts, {}, {})))
        self.assertEqual(paper_words.beside_fio(self.cells(1)), "")
        self.assertNotIn("against fio", page.results(self.cells(1), facts))

    def test_the_scheduler_is_the_one_in_use(self):
        cells = self.cells(1, 2)
        facts = load.load_facts(self.db, cells)
        self.assertIn("{scheduler}{none}\n", paper_tables.fact_numbers(paper_tables.Shown(cells, facts, {}, {})))
        for listed, used in (("none [mq-deadline] bfq ", "mq-deadline"), ("none ", "none"), ("", "")):
            self.assertEqual(common.in_use(listed), used)
        facts.host["scheduler"] = "none [mq-deadline] bfq "
        self.assertIn("; I/O scheduler mq-deadline (nr", paper_words.disk_words(facts, ()))

    def test_what_the_program_was_started_with_is_said_where_it_is_unusual(self):
        usual = {"process/io_priority": "none", "process/nice": "0", "memory/transparent_hugepage": "madvise"}
        self.assertEqual(paper_words.started_words({}), "")
        self.assertEqual(paper_words.started_words(usual), "")
        unusual = {"process/io_priority": "idle", "process/nice": "5", "memory/transparent_hugepage": "never"}
        self.assertEqual(paper_words.started_words(unusual), "; started with I/O priority idle, niceness 5, no huge pages")

    def test_the_scheduler_is_the_one_that_cells_asked_for(self):
        cells = [*self.cells(1, scheduler="bfq"), *self.cells(2, scheduler="keep")]
        facts = load.load_facts(self.db, cells)
        numbers = paper_tables.fact_numbers(paper_tables.Shown(cells, facts, {}, {}))
        self.assertIn("{scheduler}{bfq}\n", numbers)
        self.assertIn("{scheduler-2}{none}\n", numbers)
        words = list(paper_words.methods_words(self.db, paper_tables.Shown(cells, facts, {}, {})))
        found = [text.split("; I/O scheduler ")[1] for text in words if "; I/O scheduler " in text]
        self.assertTrue(found[0].startswith("bfq (as found: nr"), found[0])
        self.assertTrue(found[1].startswith("none (nr"), found[1])

    def test_cells_with_fewer_runs_do_not_pass_for_whole(self):
        cells = self.cells(1, 2)
        cells[0] = dataclasses.replace(cells[0], runs=cells[1].runs - 1)
        words = " ".join(paper_words.methods_words(self.db, paper_tables.Shown(cells, load.load_facts(self.db, cells), {}, {})))
        self.assertIn(f"(n = {cells[0].runs} to {cells[1].runs} runs a cell count", words)

    def test_a_rig_that_cannot_be_trusted_is_said_with_every_figure(self):
        cells = self.cells(1)
        facts = load.load_facts(self.db, cells)
        passed, broken = "controls passed: a/a 1.01", "BROKEN RIG: data left in the cache"
        for rig, in_captions in (((), 0), ((passed,), 0), ((broken, "controls: a/a 1.01"), 2)):
            shown = paper_tables.Shown(cells, facts, {}, {}, rig)
            self.assertEqual("; ".join(rig) in " ".join(paper_words.methods_words(self.db, shown)), True)
            captions = paper_words.captions_tex(shown, [("throughput", {}, "A figure.")], {"shuffle": ""})
            self.assertEqual(captions.count("BROKEN RIG: data left in the cache."), in_captions)
            self.assertEqual("rig.txt" in paper_words.readme(shown, [], {}, True, []), bool(rig))

    def test_commands_are_those_of_all_disks(self):
        def of(*sessions):
            return types.SimpleNamespace(sessions=sessions)
        self.assertEqual(paper_words.commands_of([of((1, ["run a"])), of((2, ["run b"]))]), 2)
        self.assertEqual(paper_words.commands_of([of((1, ["run spec"])), of((2, ["run spec"]))]), 1, "one for both disks")
        self.assertEqual(paper_words.commands_of([of((1, ["run a", "run a"]), (2, ["run a"]))]), 2, "gone on with")

    def test_each_node_and_revision_is_named(self):
        self.change("UPDATE experiment SET git_revision = 'fedcba', cpu = 'Other CPU' WHERE experiment_id = 2")
        cells = self.cells(1, 2)
        facts = load.load_facts(self.db, cells)
        methods = next(paper_words.methods_words(self.db, paper_tables.Shown(cells, facts, {}, {})))
        for text in (common.where(facts) + common.caption("", "", facts), methods):
            self.assertIn("Other CPU", text)
            self.assertIn("fedcba", text)
            self.assertIn("0123456789ab", text)


class Frozen(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        demo.main([str(self.out / "a.db"), "--repeats", "1", "--cells", "2"])

    def test_the_sql_makes_a_database_that_gives_the_same_sql(self):
        paper_data.dump(self.out / "a.db", self.out / "a.sql")
        with sqlite3.connect(self.out / "b.db") as db:
            db.executescript((self.out / "a.sql").read_text(encoding="utf-8"))
        paper_data.dump(self.out / "b.db", self.out / "b.sql")
        self.assertEqual((self.out / "a.sql").read_bytes(), (self.out / "b.sql").read_bytes())

    def test_a_command_of_a_stranger_stays_words(self):
        session = paper_data.Session(1, ("x", "run", "$(reboot)", "a;b", "sweep.toml"), "", "/d", "", "sweep.toml", "t")
        names = paper_data.specs([session])
        line = paper_data.words_again(session, names)
        self.assertEqual(shlex.split(line), ["$(reboot)", "a;b", "$here/data/spec-1.toml"])
        self.assertTrue(line.startswith("'$(reboot)' 'a;b'"))

    def test_a_word_that_looks_like_a_mark_of_the_script_stays_a_word(self):
        root = "/d'; touch INJECTED; '"
        session = paper_data.Session(1, ("x", "run", "@NEEDS@", "@VARIABLES@"), "", root, "", "", "")
        facts = types.SimpleNamespace(host={"git_revision": "r"})
        text = paper_data.rerun_sh(types.SimpleNamespace(facts=facts, data={}), [session],
                                   {"arguments": [], "experiments": [1]}, [1], 1)
        self.assertIn("run @NEEDS@ @VARIABLES@ --data", text)

    def test_a_spec_that_makes_its_data_is_given_none(self):
        spec = '[[data]]\nname = "small"\nmake = { count = 10 }\n'
        sites = [paper_data.Session(n, ("x", "run", "s.toml"), "", f"/w/{n}", "", "s.toml", spec) for n in (1, 2)]
        commands = {paper_data.command(s, sites, paper_data.specs(sites)) for s in sites}
        self.assertEqual(len(commands), 1)
        self.assertNotIn("DATA_", commands.pop())
        self.assertEqual(paper_data.variables(sites), ["WORKDIR=${WORKDIR:-$to/work}"])

    def test_what_is_no_run_is_no_command(self):
        import contextlib
        import sqlite3
        with contextlib.closing(sqlite3.connect(self.out / "a.db")) as db, db:
            db.execute("UPDATE session SET argv = 'rm -rf /'")
        self.assertEqual(paper_data.sessions(self.out / "a.db", [1]), [])

    def test_an_edited_file_is_not_written_over_and_names_outside_are_not_looked_at(self):
        (self.out / paper.SUMS).write_text("0  paper.tex\n0  ../a.db\n0  /etc/passwd\n")
        (self.out / "paper.tex").write_text("mine")
        known = paper.earlier(self.out)
        self.assertEqual(list(known), ["paper.tex"])
        with self.assertRaises(load.Unwritten):
            paper.refuse_edited(self.out, known)


if __name__ == "__main__":
    unittest.main()
