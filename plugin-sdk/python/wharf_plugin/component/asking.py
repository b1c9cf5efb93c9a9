"""Converts questions and answers to the interface's types, and ends calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from componentize_py_types import Err
from wit_world.imports import types as t

from .. import ask
from ..call import Call, Context
from ..content import Audio, Image, Text
from ..errors import InvalidArguments, NotFound, ToolError
from ..sampling import Sampled, Sampling, SamplingMessage, ToolAnswer, ToolUse
from ..values import dumps
from . import preload, traces
from .lower import media, meta, number, optional, piece, role, text, text_content

_FEATURES = {
    "form": t.ClientFeatures.ELICIT_FORM,
    "url": t.ClientFeatures.ELICIT_URL,
    "sample": t.ClientFeatures.SAMPLE,
    "sample-tools": t.ClientFeatures.SAMPLE_TOOLS,
    "sample-context": t.ClientFeatures.SAMPLE_CONTEXT,
    "roots": t.ClientFeatures.ROOTS,
}


def ended(context: Any, work: Callable[[Call], Any], complete: Any = None, input_required: Any = None) -> Any:
    """Runs a call; all exceptions become an `Err` of the interface. Without
    `input_required` it cannot ask questions."""
    try:
        call = Call(_context(context))
        outcome = call.attempt(lambda: work(call))
        if not isinstance(outcome, ask.Required):
            return outcome if complete is None else complete(outcome)
        if input_required is None:
            raise ToolError("questions are not supported here")
        questions = [t.Question(text(one.key), _asks(one.asks)) for one in outcome.questions]
        return input_required(t.InputRequired(questions, outcome.state))
    except NotFound:
        raise Err(t.CallError_NotFound()) from None
    except InvalidArguments as error:
        raise Err(t.CallError_InvalidInput(t.InvalidInput(text(error.path), text(error.reason)))) from None
    except BaseException as error:
        message = str(error) or type(error).__name__
        if error.__cause__ is not None:
            # The trace goes to the host's log; the model gets only the text.
            traces.show(error.__cause__)
        if isinstance(error.__cause__, ModuleNotFoundError):
            message += preload.HINT
        raise Err(t.CallError_Failed(text(message))) from None


def listed(work: Callable[[], list[Any]]) -> list[Any]:
    """Computes a list; the text of an error becomes the reason for refusing the plugin."""
    try:
        return work()
    except BaseException as error:
        traces.show(error)
        raise Err(text(f"{type(error).__name__}: {error}")) from None


def _context(context: Any) -> Context:
    return Context(
        context.id,
        frozenset(name for name, flag in _FEATURES.items() if flag in context.client),
        context.time_left_ms / 1000,
        {answer.key: _reply(answer.reply) for answer in context.answers},
        None if context.state is None else bytes(context.state),
        json.loads(context.meta) if context.meta else {},
    )


def _reply(reply: Any) -> ask.Reply:
    if isinstance(reply, t.Reply_Elicited):
        if reply.value.action != t.ElicitAction.ACCEPT:
            return ask.Declined()
        return ask.Accepted(None if reply.value.content is None else json.loads(reply.value.content))
    if isinstance(reply, t.Reply_Sampled):
        pieces = [_piece(one) for one in reply.value.content]
        return Sampled(reply.value.model, [one for one in pieces if one is not None], reply.value.stop_reason)
    if isinstance(reply, t.Reply_Roots):
        return [ask.Root(root.uri, root.name) for root in reply.value]
    return ask.Refused(reply.value)


def _piece(piece: Any) -> Text | Image | Audio | ToolUse | None:
    if isinstance(piece, t.SamplingContent_Text):
        return Text(piece.value.text)
    if isinstance(piece, t.SamplingContent_Image):
        return Image(bytes(piece.value.data), piece.value.mime_type)
    if isinstance(piece, t.SamplingContent_Audio):
        return Audio(bytes(piece.value.data), piece.value.mime_type)
    if isinstance(piece, t.SamplingContent_ToolUse):
        return ToolUse(piece.value.id, piece.value.name, json.loads(piece.value.input))
    return None  # Only a caller gives results of tools; a model has none.


def _asks(asks: Any) -> Any:
    if isinstance(asks, ask.Form):
        return t.Ask_Form(t.Form(text(asks.message), text(asks.schema)))
    if isinstance(asks, ask.Visit):
        return t.Ask_Url(t.UrlVisit(text(asks.message), text(asks.url)))
    if isinstance(asks, Sampling):
        return t.Ask_Sample(_sampling(asks))
    return t.Ask_Roots()


def _sampling(asks: Sampling) -> Any:
    priorities = (asks.cost_priority, asks.speed_priority, asks.intelligence_priority)
    preferences = None
    if asks.models or any(one is not None for one in priorities):
        preferences = t.ModelPreferences([text(hint) for hint in asks.models], *map(number, priorities))
    return t.Sampling(
        [_message(one if isinstance(one, SamplingMessage) else SamplingMessage(one)) for one in asks.messages],
        min(max(int(asks.max_tokens), 0), 0xFFFF_FFFF),
        optional(asks.system),
        number(asks.temperature),
        [text(one) for one in asks.stop_at],
        preferences,
        None if asks.context is None else t.ContextScope[asks.context.upper().replace("-", "_")],
        [t.SamplingTool(text(one.name), optional(one.description), text(dumps(one.schema))) for one in asks.tools],
        None if asks.tool_choice is None else t.ToolChoice[asks.tool_choice.upper()],
        meta(asks.metadata),
    )


def _message(message: SamplingMessage) -> Any:
    pieces = message.content if isinstance(message.content, (list, tuple)) else [message.content]
    return t.SamplingMessage(role(message.role), [_sampling_piece(one) for one in pieces])


def _sampling_piece(value: Any) -> Any:
    if isinstance(value, (str, Text)):
        return t.SamplingContent_Text(text_content(value))
    if isinstance(value, Image):
        return t.SamplingContent_Image(media(value))
    if isinstance(value, Audio):
        return t.SamplingContent_Audio(media(value))
    if isinstance(value, ToolUse):
        return t.SamplingContent_ToolUse(t.ToolUse(text(value.id), text(value.name), text(dumps(value.input))))
    if isinstance(value, ToolAnswer):
        content = [piece(one) for one in value.content]
        return t.SamplingContent_ToolResult(t.ToolAnswer(text(value.id), content, None, bool(value.failed)))
    raise TypeError(f"a model cannot be sent a {type(value).__name__}")
