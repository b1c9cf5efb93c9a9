"""Questions as the host sees them: what each round asks, and what it keeps."""

import unittest
from dataclasses import dataclass
from typing import Any

from wharf_plugin import Call, Image, Plugin, Root, Sampled, Sampling, Text, ToolUse, Unavailable
from wharf_plugin.ask import Accepted, Declined, Refused, Reply, Required
from wharf_plugin.call import Context
from wharf_plugin.testing import Client, accept, decline, model, roots, unavailable

plugin = Plugin()


@dataclass
class Table:
    seats: int
    outside: bool = False


@plugin.tool
def book(call: Call) -> str:
    """Books a table."""
    table = call.ask.form("Which table?", Table)
    return f"{table.seats} {table.outside}" if table else "none"


@plugin.tool
def everything(call: Call) -> str:
    """Asks everything, and acts once."""
    made = call.ask.once(lambda: {"id": call.id})
    sure = call.ask.confirm("Sure?")
    went = call.ask.visit("Sign in", "https://example.org/")
    answer = call.ask.sample(Sampling(["Say"], max_tokens=5)).text
    folders = [root.uri for root in call.ask.roots()]
    raw = call.ask.form_of("Mail?", {"type": "object", "properties": {"mail": {"type": "string"}}})
    return f"{made} {sure} {went} {answer} {folders} {raw}"


@plugin.tool
def pack(call: Call) -> str:
    """Asks two things at once, then a third."""
    ask = call.ask
    tent, stove = ask.together(
        lambda: ask.key("tent").confirm("A tent?"), lambda: ask.key("stove").confirm("A stove?")
    )
    return f"{tent} {stove} {ask.key('map').confirm('A map?')}"


@plugin.tool
def leave(call: Call) -> str:
    """Does without an answer to the first."""
    try:
        late = str(call.ask.key("late").confirm("Later?"))
    except Unavailable:
        late = "unknown"
    return f"{late} {call.ask.key('sure').confirm('Sure?')}"


@plugin.tool
def greedy(call: Call) -> str:
    """Catches what it should not."""
    try:
        return str(call.ask.confirm("Sure?"))
    except Exception:
        return "caught"


def round(tool: str, answers: dict[str, Reply], state: bytes | None = None) -> Any:
    """What one round ends with: a text, or the keys that are asked for and the state."""
    call = Call(Context(answers=answers, state=state))
    outcome = call.attempt(lambda: plugin.call_tool(tool, "{}", call))
    if isinstance(outcome, Required):
        return [question.key for question in outcome.questions], outcome.state
    return outcome.text


class Asking(unittest.TestCase):
    def test_a_form(self) -> None:
        self.assertEqual(Client(plugin, answers=[accept(seats=4)]).call("book").text, "4 False")
        self.assertEqual(Client(plugin, answers=[decline()]).call("book").text, "none")

    def test_all_kinds_and_once(self) -> None:
        answers = [accept(), decline(), model("hi"), roots("file:///a"), accept(mail="x")]
        client = Client(plugin, answers=answers)
        expected = "{'id': 'test'} True False hi ['file:///a'] {'mail': 'x'}"
        self.assertEqual(client.call("everything").text, expected)
        self.assertEqual([question.key for question in client.asked], ["q2", "q3", "q4", "q5", "q6"])

    def test_only_unanswered_questions_are_repeated(self) -> None:
        self.assertEqual(round("pack", {}), (["tent", "stove"], None))
        keys, state = round("pack", {"stove": Accepted()})
        self.assertEqual(keys, ["tent"])
        self.assertEqual(round("pack", {}, state), (["tent"], state))
        keys, state = round("pack", {"tent": Declined()}, state)
        self.assertEqual(keys, ["map"])
        self.assertEqual(round("pack", {"map": Accepted()}, state), "False True True")

    def test_an_unhandled_refusal_repeats_the_question(self) -> None:
        keys, state = round("pack", {"tent": Refused("nobody"), "stove": Accepted()})
        self.assertEqual(keys, ["tent"])
        self.assertEqual(round("pack", {"tent": Refused("nobody")}, state), (["tent"], state))
        self.assertEqual(round("pack", {"tent": Accepted()}, state)[0], ["map"])

    def test_a_handled_refusal_stays_handled(self) -> None:
        keys, state = round("leave", {"late": Refused("nobody")})
        self.assertEqual(keys, ["sure"])
        self.assertEqual(round("leave", {"sure": Accepted()}, state), "unknown True")
        self.assertEqual(Client(plugin, answers=[unavailable(), accept()]).call("leave").text, "unknown True")

    def test_a_question_is_not_an_exception(self) -> None:
        self.assertEqual(round("greedy", {}), (["q1"], None))

    def test_an_answer_of_another_kind(self) -> None:
        with self.assertRaisesRegex(Exception, "does not fit the question"):
            round("book", {"q1": [Root("file:///")]})

    def test_a_model_answer_is_kept_across_rounds(self) -> None:
        sampled = Sampled("m", [Text("a"), Image(b"\xff", "image/png"), ToolUse("1", "t", {"x": 1})], "endTurn")
        seen = []

        def two(call: Call) -> str:
            seen.append(call.ask.sample("Say"))
            return str(call.ask.confirm("Sure?"))

        call = Call(Context(answers={"q1": sampled}))
        outcome = call.attempt(lambda: two(call))
        assert isinstance(outcome, Required)
        again = Call(Context(answers={"q2": Accepted()}, state=outcome.state))
        self.assertEqual(again.attempt(lambda: two(again)), "True")
        self.assertEqual(seen, [sampled, sampled])
        self.assertEqual(sampled.tool_uses, [ToolUse("1", "t", {"x": 1})])

    def test_client_features(self) -> None:
        call = Call(Context(features=frozenset({"form"})))
        self.assertTrue(call.ask.can("form"))
        self.assertFalse(call.ask.can("roots"))


if __name__ == "__main__":
    unittest.main()
