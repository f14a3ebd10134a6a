"""The code of the book's page, from top to bottom."""

import os
import re
import unittest

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/guide/python.md")


class Book(unittest.TestCase):
    def test_the_page_runs(self):
        with open(PAGE) as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 5)
        names = {}
        for block in blocks:
            exec(compile(block, PAGE, "exec"), names)


if __name__ == "__main__":
    unittest.main()
