"""Every notebook runs from its first cell to its last."""

import glob
import os
import unittest

import nbformat
from nbclient import NotebookClient

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples")


class Notebooks(unittest.TestCase):
    def test_every_notebook_runs(self):
        notebooks = sorted(glob.glob(os.path.join(EXAMPLES, "*.ipynb")))
        self.assertEqual(len(notebooks), 4)
        for place in notebooks:
            with self.subTest(os.path.basename(place)):
                notebook = nbformat.read(place, as_version=4)
                nbformat.validate(notebook)
                self.assertTrue(all(not cell.get("outputs") for cell in notebook.cells), "stored without outputs")
                NotebookClient(notebook, timeout=240, resources={"metadata": {"path": EXAMPLES}}).execute()


if __name__ == "__main__":
    unittest.main()
