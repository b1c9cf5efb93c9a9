"""The interface `wharf:plugin/prompts`."""

from __future__ import annotations

from typing import Any

import wit_world.exports as world
from wit_world.exports import prompts as p

from .. import offers
from ..plugin import Plugin
from ..results import Message, PromptResult
from .asking import ended, listed
from .lower import icons, meta, optional, piece, role, text


def export(plugin: Plugin) -> Any:
    """The class that componentize-py looks for."""
    found = listed(lambda: [_prompt(prompt) for prompt in plugin.prompts.values()])

    class Prompts(world.Prompts):
        def list_prompts(self) -> Any:
            return found

        def get_prompt(self, name: str, arguments: Any, context: Any) -> Any:
            return ended(
                context,
                lambda call: _result(plugin.get_prompt(name, dict(arguments), call)),
                p.PromptOutcome_Complete,
                p.PromptOutcome_InputRequired,
            )

    return Prompts


def _prompt(prompt: offers.Prompt) -> Any:
    return p.Prompt(
        text(prompt.name),
        optional(prompt.title),
        optional(prompt.description or None),
        [
            p.PromptArgument(
                text(member.name),
                optional(member.keywords.get("title")),
                optional(member.keywords.get("description")),
                member.required,
            )
            for member in prompt.members
        ],
        icons(prompt.icons),
        meta(prompt.meta),
    )


def _result(result: PromptResult) -> Any:
    messages = [one if isinstance(one, Message) else Message(one) for one in result.messages]
    lowered = [p.PromptMessage(role(one.role), piece(one.content)) for one in messages]
    return p.PromptResult(optional(result.description), lowered, meta(result.meta))
