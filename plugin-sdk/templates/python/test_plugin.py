"""Tries the plugin without a component: `PYTHONPATH=wharf python3 -m unittest`."""

import unittest

from wharf_plugin import InvalidArguments
from wharf_plugin.testing import Client

from plugin import plugin


class Tools(unittest.TestCase):
    def test_greet(self) -> None:
        self.assertEqual(Client(plugin).call("greet", name="Ada").text, "Hello, Ada!")

    def test_count_words(self) -> None:
        client = Client(plugin)
        words = client.call("count_words", text="To be or not to be").structured
        self.assertEqual(words["total"], 6)
        self.assertEqual(words["frequent"][0], {"word": "to", "times": 2})
        self.assertEqual(client.logged, ["debug: 6 words"])

    def test_nothing_to_count(self) -> None:
        with self.assertRaises(InvalidArguments):
            Client(plugin).call("count_words", text="…")


if __name__ == "__main__":
    unittest.main()
