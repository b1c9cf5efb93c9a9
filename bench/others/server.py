"""The tools of the measured servers on the official Python SDK: `server.py` serves them on stdio."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

server = MCPServer("python")


class Sum(BaseModel):
    sum: int


@server.tool()
def echo(message: Annotated[str, Field(description="The text to return.")]) -> str:
    """Says back what it is told."""
    return message


@server.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


server.run()
