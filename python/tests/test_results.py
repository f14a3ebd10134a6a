"""Results: the rows of `laxity run`, taken over by other libraries, and drawn."""

import tempfile
import unittest

import matplotlib

matplotlib.use("Agg")

import pandas
import polars
import pyarrow

import laxity
from common import AXES, CAMERA, SWEEP, camera, run_by_program


class Rows(unittest.TestCase):
    def test_rows_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as directory:
            expected = run_by_program(directory, CAMERA + SWEEP)
        for results in (camera(SWEEP).run(), camera().swept(AXES).run(), laxity.sweep(camera(), AXES)):
            rows = results.to_arrow()
            self.assertEqual(rows.column_names, expected.column_names)
            self.assertEqual(rows.to_pylist(), expected.to_pylist())
        self.assertEqual(len(results), 3 * 2 * 2)

    def test_other_libraries_take_them_over(self):
        results = camera().run()
        self.assertEqual(polars.DataFrame(results).shape, (2, len(results.columns)))
        self.assertEqual(results.to_polars()["channel"].to_list(), ["camera", "bulk"])
        frame = results.to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertLess(frame["worst"][0], frame["bound"][0])
        self.assertTrue(pandas.isna(frame["bound"][1]), "best effort has no bound")
        # The buffers are taken over and not copied: both tables have the same address.
        table = results._rows()
        address = lambda: pyarrow.table(table)["worst"].chunk(0).buffers()[1].address
        self.assertEqual(address(), address())
        metadata = results.to_arrow().schema.metadata
        self.assertEqual(metadata[b"laxity.name"], b"camera")

    def test_verdicts_and_text_are_those_of_the_program(self):
        results = camera().run()
        self.assertTrue(results.holds)
        verdict = results.verdicts[0]
        self.assertEqual((verdict.id, verdict.verdict, verdict.holds), ("on-time", "holds", True))
        self.assertIn("camera", str(results))
        self.assertEqual(results.to_dict()["results"]["runs"][0]["channels"][0]["name"], "camera")
        late = camera().with_({"channel.camera.deadline": "1 ms", "admission.formula": "off"})
        self.assertEqual(late.run().standing, "fails")
        self.assertEqual(late.run().verdicts[0].verdict, "contradicted")

    def test_results_are_written_where_they_are_wanted(self):
        with tempfile.TemporaryDirectory() as directory:
            out = directory + "/out"
            results = camera().run(out=out)
            with open(out + "/results.json") as file:
                self.assertEqual(file.read(), results.to_json())
            self.assertEqual(polars.read_csv(out + "/results.csv")["channel"].to_list(), ["camera", "bulk"])
            with self.assertRaisesRegex(laxity.Error, "not the outcome of an earlier run"):
                camera().run(out=directory)

    def test_figures_are_those_of_the_report(self):
        results = camera(SWEEP).run()
        drawn = results.plot()
        titles = [figure["title"] for figure in results.figures()]
        self.assertEqual([figure.get_suptitle() for figure in drawn], titles)
        worst = results.plot("worst", "speedup", ["camera"])
        axes = worst.axes[0]
        measured, bound = axes.get_lines()[:2]
        self.assertEqual(list(measured.get_xdata()), [1.0, 2.0, 4.0])
        self.assertTrue(all(m <= b for m, b in zip(measured.get_ydata(), bound.get_ydata())))
        bars = camera().run().plot("worst")
        self.assertEqual([text.get_text() for text in bars.axes[0].get_yticklabels()], ["camera"])
        with self.assertRaisesRegex(laxity.Error, "there is no axis"):
            results.plot("worst", "load")
        with self.assertRaisesRegex(laxity.Error, "is not a metric"):
            results.plot("wurst")

    def test_each_panel_of_a_figure_shows_its_lines(self):
        axes = {
            "channel.camera.max_message": ["2 KiB", "8 KiB", "16 KiB"],
            "channel.camera.min_interval": ["40 ms", "50 ms"],
        }
        drawn = laxity.sweep(camera(), axes).plot("worst", "min_interval")
        panels = [panel for panel in drawn.axes if panel.get_visible()]
        self.assertEqual(len(panels), 3)
        for panel in panels:
            low, high = panel.get_ylim()
            values = [value for line in panel.get_lines() for value in line.get_ydata()]
            self.assertTrue(values and low == 0 and all(low <= value <= high for value in values))

    def test_admission_is_a_table_too(self):
        frame = camera(SWEEP).admit().to_polars()
        self.assertEqual(frame.shape[0], 3 * 2 * 2)
        self.assertEqual(frame.columns[:3], ["point", "channel", "verdict"])
        self.assertIn("camera", str(camera().admit()))


if __name__ == "__main__":
    unittest.main()
