"""Tools, resources and prompts for Wharf, in Python.

    from wharf_plugin import Plugin

    plugin = Plugin()

    @plugin.tool
    def greet(name: str) -> str:
        \"\"\"Greets somebody.\"\"\"
        return f"Hello, {name}!"
"""

from . import log
from .ask import Ask, Root
from .call import Call
from .content import Audio, Content, Embedded, Icon, Image, Resource, ResourceContents, Text
from .errors import InvalidArguments, NotFound, ToolError, Unavailable
from .host import list_changed, resource_updated
from .page import Page
from .plugin import Plugin
from .results import NOTHING, Completion, Message, PromptResult, ReadResult, ToolResult
from .sampling import Sampled, Sampling, SamplingMessage, SamplingTool, ToolAnswer, ToolUse

__all__ = [
    "NOTHING",
    "Ask",
    "Audio",
    "Call",
    "Completion",
    "Content",
    "Embedded",
    "Icon",
    "Image",
    "InvalidArguments",
    "Message",
    "NotFound",
    "Page",
    "Plugin",
    "PromptResult",
    "ReadResult",
    "Resource",
    "ResourceContents",
    "Root",
    "Sampled",
    "Sampling",
    "SamplingMessage",
    "SamplingTool",
    "Text",
    "ToolAnswer",
    "ToolError",
    "ToolResult",
    "ToolUse",
    "Unavailable",
    "list_changed",
    "log",
    "resource_updated",
]
