"""What is found out while a component is built, without one: the interface is simulated."""

import importlib
import re
import sys
import tempfile
import traceback
import types
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

for name in ("wit_world", "wit_world.exports"):
    sys.modules.setdefault(name, types.ModuleType(name))
from wharf_plugin import Plugin, component  # noqa: E402
from wharf_plugin.call import Call, Context  # noqa: E402
from wharf_plugin.component import image, needs, packages, traces  # noqa: E402
from wharf_plugin.errors import ToolError  # noqa: E402


@contextmanager
def modules(sources: dict[str, str]) -> Iterator[Path]:
    """A folder with these files, whose modules can be imported meanwhile; packages are in `site/`."""
    with tempfile.TemporaryDirectory() as folder:
        for path, source in sources.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source)
        added = [folder, str(Path(folder, "site"))]
        sys.path[:0] = added
        importlib.invalidate_caches()
        try:
            yield Path(folder)
        finally:
            sys.path[:] = [one for one in sys.path if one not in added]
            names = {path.removeprefix("site/").split("/")[0].removesuffix(".py") for path in sources}
            for name in [name for name in sys.modules if name.split(".")[0] in names]:
                del sys.modules[name]


class Interfaces(unittest.TestCase):
    def compare(self, stated: bool, offered: set[str], used: dict[str, list[str]]) -> None:
        component._compare(offered, {"tools"}, stated, used, {"config"}, stated)

    def test_an_error_names_all_that_is_missing(self) -> None:
        used = {"http": ["httpx", "wharf_plugin.http"], "keyvalue": ["wharf_plugin.store"]}
        with self.assertRaises(component.BuildError) as raised:
            self.compare(True, {"tools", "prompts", "resources"}, used)
        self.assertEqual(
            str(raised.exception),
            "this plugin has prompts and resources and imports httpx, wharf_plugin.http and wharf_plugin.store: "
            'in plugin.toml, write exports = ["tools", "resources", "prompts"] and '
            'imports = ["config", "http", "keyvalue"], or remove these lines: the build finds it out by itself',
        )

    def test_stated_interfaces_may_be_more_than_the_plugin_has(self) -> None:
        self.compare(True, {"tools"}, {})
        component._compare({"tools"}, {"tools"}, False, {"config": ["x"]}, {"config"}, False)

    def test_a_wrong_guess_is_corrected_in_both_directions(self) -> None:
        with self.assertRaises(component.OtherWorld) as raised:
            self.compare(False, {"prompts", "tools"}, {"keyvalue": ["wharf_plugin.store"]})
        self.assertEqual(str(raised.exception), '{"exports": ["tools", "prompts"], "imports": ["keyvalue"]}')


class Entry(unittest.TestCase):
    def refused(self, source: str) -> str:
        with modules({"app/main.py": source, "app/__init__.py": ""}):
            with self.assertRaises(component.BuildError) as raised, component.loading():
                # As the entry that the build writes.
                from app.main import plugin  # type: ignore[import-not-found] # noqa: F401
        return str(raised.exception)

    def test_a_variable_of_another_name_is_named(self) -> None:
        self.assertEqual(self.refused("x = 1"), "app/main.py must define `plugin = Plugin()`")
        self.assertEqual(
            self.refused("from wharf_plugin import Plugin\nweather = Plugin()"),
            "app/main.py must define `plugin = Plugin()`; it is called `weather` there",
        )

    def test_the_author_s_own_imports_are_not_taken_for_it(self) -> None:
        sources = {"app/main.py": "from app.other import plugin", "app/__init__.py": "", "app/other.py": ""}
        with modules(sources), self.assertRaises(ImportError), component.loading():
            from app.main import plugin  # noqa: F401

    def test_a_plugin_without_anything_is_refused(self) -> None:
        wrong: list[tuple[Any, str]] = [(Plugin(), "has nothing to call"), ([], "is of type list")]
        for plugin, reason in wrong:
            with self.assertRaises(component.BuildError) as raised:
                component.exports(plugin, exports_stated=False, imports_stated=False)
            self.assertIn(reason, str(raised.exception))


class Imports(unittest.TestCase):
    def uses_urllib(self, source: str) -> bool:
        needs._used.clear()
        for name in ("urllib.request", "xml.sax.saxutils"):
            sys.modules.pop(name, None)
        with modules({"watched.py": source}), component.loading():
            importlib.import_module("watched")
        return "urllib.request" in needs.used().get("http", [])

    def test_requests_by_urllib_are_noticed(self) -> None:
        for source in ("import urllib.request", "from urllib import request", "from urllib.request import urlopen"):
            self.assertTrue(self.uses_urllib(source), source)
        for source in ("import urllib.parse", "from xml.sax.saxutils import escape"):
            self.assertFalse(self.uses_urllib(source), source)

    def test_input_says_how_to_ask(self) -> None:
        patched = ("wharf_plugin.adapters.no_sockets.install", "wharf_plugin.loop.install", "builtins.input")
        with ExitStack() as stack:
            for name in patched:
                stack.enter_context(mock.patch(name))
            needs.adapt(http=False)
            with self.assertRaisesRegex(EOFError, "call.ask.form"):
                input("Who?")

    def test_errors_of_the_plugin_have_its_frames_only(self) -> None:
        trace: Any = None
        with modules({"outer.py": "import inner", "inner.py": "1 / 0"}):
            try:
                with component.loading():
                    importlib.import_module("outer")
            except ZeroDivisionError as error:
                trace = error.__traceback__
        files = []
        while trace:
            files.append(Path(trace.tb_frame.f_code.co_filename).name)
            trace = trace.tb_next
        self.assertFalse({"needs.py"} & set(files), files)
        self.assertEqual(files[-1], "inner.py")


class Traces(unittest.TestCase):
    def test_only_frames_of_the_author_are_shown(self) -> None:
        source = (
            "import json\n\ndef parse(text):\n    return json.loads(text)\n\ndef read():\n    try:\n"
            "        parse('')\n    except ValueError:\n        raise KeyError(1)\n"
        )
        with modules({"author.py": source}) as folder:
            author: Any = importlib.import_module("author")
            with self.assertRaises(ToolError) as raised:
                # As in a component.
                Call(Context()).attempt(author.read)
            cause = raised.exception.__cause__
            assert cause is not None
            message = traces.shown(cause)
        file = re.escape(str(folder / "author.py"))
        text = r"(    .*\n)*"
        start = r"Traceback \(most recent call last\):\n"
        expected = (
            rf'{start}  File "{file}", line 8, in read\n{text}  File "{file}", line 4, in parse\n{text}'
            rf'(  File ".*json.*", line .*\n{text})+json\.decoder\.JSONDecodeError: .*\n\nDuring handling .*\n\n'
            rf'{start}  File "{file}", line 10, in read\n{text}KeyError: 1\n'
        )
        self.assertRegex(message, f"^{expected}$")

    def test_files_have_the_names_of_the_project(self) -> None:
        names = {"/1/plugin.py": "plugin.py", "/1/a/b.py": "a/b.py", "/usr/x.py": "/usr/x.py", "<string>": "<string>"}
        for file, name in names.items():
            self.assertEqual(traces._name(file), name)

    def test_an_error_of_the_wrapper_keeps_its_frames(self) -> None:
        own = f"{traces._PACKAGE}call.py"
        frames = [traceback.FrameSummary(file, 1, "f", line="x") for file in ("/0/wharf_entry.py", own)]
        self.assertEqual([frame.filename for frame in traces._of_author(frames)], ["/0/wharf_entry.py", own])
        frames.append(traceback.FrameSummary("/1/plugin.py", 1, "f", line="x"))
        self.assertEqual([frame.filename for frame in traces._of_author(frames)], ["plugin.py"])


class Packages(unittest.TestCase):
    def refused(self, source: str, more: dict[str, str]) -> str:
        with modules({"plugin_module.py": source, **more}) as folder:
            (folder / "site/fast-1.0.dist-info").mkdir(parents=True)
            (folder / "site/fast").mkdir(exist_ok=True)
            (folder / "site/fast/_core.cpython-39-x86_64-linux-gnu.so").touch()
            with self.assertRaises((component.BuildError, ImportError)) as raised, component.loading():
                importlib.import_module("plugin_module")
        self.assertIsInstance(raised.exception, component.BuildError)
        return str(raised.exception)

    def test_a_compiled_file_is_named_with_the_package_that_needs_it(self) -> None:
        expected = (
            "cannot be part of a plugin: it needs fast/_core.cpython-39-x86_64-linux-gnu.so, which is compiled for "
            "another platform, and a component contains only Python code; use "
        )
        sources = ["from ._core import x", "import fast._core"]
        if sys.version_info >= (3, 12):
            sources.append("from . import _core")
        for source in sources:
            message = self.refused("import fast", {"site/fast/__init__.py": source})
            self.assertIn(f"fast {expected}a package in pure Python", message)
        # As numpy does it: with an error of its own.
        source = "try:\n    from fast._core import x\nexcept ImportError as e:\n    raise ImportError('see the manual') from e"
        message = self.refused("import numpy", {"site/numpy/__init__.py": source, "site/fast/__init__.py": ""})
        self.assertIn(f"numpy {expected}`statistics`", message)

    def test_packages_that_open_sockets_are_refused(self) -> None:
        message = self.refused("import aiohttp", {"site/aiohttp/__init__.py": "import _ssl_of_nobody"})
        self.assertEqual(
            message,
            "aiohttp cannot be part of a plugin: it opens sockets, which plugins do not have; "
            "use httpx.AsyncClient or wharf_plugin.http",
        )
        self.assertIsNone(packages.refused())
        with modules({"websockets.py": ""}):
            importlib.import_module("websockets")
            self.assertIn("use wharf_plugin.http", packages.refused() or "")

    def test_a_missing_module_is_no_reason(self) -> None:
        with modules({"plugin_module.py": "import nothing_of_that_name"}), self.assertRaises(ModuleNotFoundError):
            with component.loading():
                importlib.import_module("plugin_module")


class Image(unittest.TestCase):
    SOURCE = """
import weakref

class Plain: ...
class Ending:
    def __del__(self): ...
class Odd(type):
    def _fails(*_): raise RuntimeError
    __hash__ = __eq__ = __getattribute__ = _fails

plain, seen, ending = Plain(), Plain(), Ending()
reference = weakref.ref(seen)
few, many = [object()], [object() for _ in range(2000)]
odd = Odd("Odd", (), {})
"""

    def test_what_may_end_and_data_are_not_listed(self) -> None:
        with modules({"listed.py": self.SOURCE}):
            listed = importlib.import_module("listed")
            found = image._found()
            self.assertIsNone(found[0])
            ids = {id(one) for one in found}
            self.assertEqual(len(ids), len(found))
            for one in (listed.plain, listed.Plain, listed.Ending, listed.few, listed.few[0], listed.many, listed.odd):
                self.assertIn(id(one), ids)
            for one in (listed.seen, listed.ending, listed.many[0]):
                self.assertNotIn(id(one), ids)


if __name__ == "__main__":
    unittest.main()
