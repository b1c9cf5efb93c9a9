"""What holds for each way to a server that is set up as docs/team.md says."""

import traceback
from pathlib import Path

from client import HELLO, Session, Way, wait
from page import ROOT


class Results:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name: str, run, *arguments):
        try:
            run(*arguments)
        except Exception:
            traceback.print_exc()
            self.failed += 1
            print(f"failed: {name}", flush=True)
        else:
            self.passed += 1
            print(f"passed: {name}", flush=True)

    def conclude(self) -> int:
        print(f"tests: {self.passed} passed, {self.failed} failed")
        return self.failed > 0


class Team:
    """A server with the page's configuration, and the ways to change it."""

    config: Path
    plugins: Path

    def approve(self):
        raise NotImplementedError

    def reload(self):
        raise NotImplementedError

    def token(self, name: str) -> str:
        return (self.config.parent / "tokens" / name).read_text().strip()

    def new_token(self, name: str):
        raise NotImplementedError

    def edit(self, old: str, new: str):
        text = self.config.read_text()
        assert old in text, old
        self.config.write_text(text.replace(old, new))

    def install(self, name: str):
        (self.plugins / name).write_bytes((ROOT / "plugins/prebuilt/text.wasm").read_bytes())


def is_refused_without_token(way: Way):
    assert way.status(None) == 401
    assert way.status("0123456789abcdef") == 401


def serves(way: Way, team: Team):
    session = Session(way, team.token("ada"))
    assert "text_hash" in session.tools()
    call = {"name": "text_hash", "arguments": {"text": "hi"}}
    assert HELLO in str(session.result("tools/call", call))
    status, _, answer = way.stateless(team.token("bob"), "tools/call", call)
    assert status == 200 and HELLO in str(answer), answer


def streams(way: Way, team: Team):
    """The news of an added plugin reach a client while its stream is open."""
    session = Session(way, team.token("bob"))
    stream = session.stream()
    team.install(f"{way.name}.wasm")
    team.approve()
    stream.wait_for(b"notifications/tools/list_changed")
    assert f"{way.name}_hash" in session.tools()
    (team.plugins / f"{way.name}.wasm").unlink()
    wait(lambda: f"{way.name}_hash" not in session.tools(), "the removal of a plugin")


def rotates(way: Way, team: Team):
    """As the page says, and Bob notices nothing. At the end Ada has her first token only."""
    ada, bob = Session(way, team.token("ada")).stream(), Session(way, team.token("bob")).stream()
    old, new = '{ name = "ada", file = "tokens/ada" },', '{ name = "ada", file = "tokens/ada-2" },'
    team.new_token("ada-2")
    assert way.status(team.token("ada-2")) == 401
    team.edit(old, f"{old}\n    {new}")
    team.reload()
    wait(lambda: way.status(team.token("ada-2")) == 200, "the new token")
    assert way.status(team.token("ada")) == 200
    team.edit(f"{old}\n", "")
    team.reload()
    wait(lambda: way.status(team.token("ada")) == 401, "the end of the old token")
    assert way.status(team.token("ada-2")) == 200
    # Ada has another token, so her session goes on; without any, her streams end.
    team.edit(new, "")
    team.reload()
    wait(lambda: way.status(team.token("ada-2")) == 401, "the end of the new token")
    wait(lambda: ada.has_ended, "the end of the removed person's stream")
    assert way.status(team.token("bob")) == 200 and not bob.has_ended
    team.edit("tokens = [", f"tokens = [\n    {old}")
    team.reload()
    wait(lambda: way.status(team.token("ada")) == 200, "the first token")


def each(results: Results, team: Team, way: Way):
    results.check(f"{way.name}: refuses requests without a token", is_refused_without_token, way)
    results.check(f"{way.name}: initialize, tools/list, tools/call", serves, way, team)
    results.check(f"{way.name}: a notification arrives on an open stream", streams, way, team)
    results.check(f"{way.name}: a token is rotated with SIGHUP", rotates, way, team)
