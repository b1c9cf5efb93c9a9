"""Validates the messages that the host sent in the tests with the official Python package.

    validate.py FOLDER

FOLDER has JSON lines, each with a message, the method that it answers and its revision. The package
knows the methods of all five revisions; its types are those of 2025-11-25 for the four older ones.
Counts files, one per test; the exit code is 0 if all messages were valid.
"""

import json
import sys
from pathlib import Path

import mcp_types.methods as methods
from mcp_types import jsonrpc

LATEST_WITH_HANDSHAKE = "2025-11-25"
# The test plugins `everything`, one per language, have custom methods; the package does not know those of tasks and
# extensions, which are validated with schemas or tried with other clients.
UNKNOWN = ("everything", "tasks/", "skills/", "resources/directory/", "notifications/tasks")


def validate(revision: str, method: str, message: dict) -> None:
    """Raises when the message is not valid in that revision."""
    if isinstance(message.get("id"), float) and message["id"].is_integer():
        # `1e2` is an integer in JSON Schema, and is returned as the client wrote it.
        message = {**message, "id": int(message["id"])}
    if "method" in message and not message["method"].startswith(UNKNOWN):
        params = message.get("params")
        parse = methods.parse_server_request if "id" in message else methods.parse_server_notification
        parse(message["method"], revision, params)
    elif "result" in message:
        jsonrpc.JSONRPCResponse.model_validate(message)
        is_task = message["result"].get("resultType") == "task" or "task" in message["result"]
        if method and not method.startswith(UNKNOWN) and not is_task:
            methods.validate_server_result(method, revision, message["result"])
    elif "error" in message:
        # The newer schemas omit an id that could not be read, the older ones require null.
        jsonrpc.JSONRPCError.model_validate({"id": None, **message})


def main(folder: str) -> int:
    passed = failed = messages = 0
    for path in sorted(Path(folder).glob("*.jsonl")):
        valid = True
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if not line:
                continue
            entry = json.loads(line)
            try:
                validate(entry["revision"] or LATEST_WITH_HANDSHAKE, entry["method"], entry["message"])
                messages += 1
            except Exception as error:
                print(f"{path.name}:{number}: {entry['revision']} {entry['method']}: {error}\n  {line[:500]}")
                valid = False
        passed += valid
        failed += not valid
    if passed + failed == 0:
        print("nothing was recorded: run the Rust tests first")
        failed = 1
    print(f"{messages} messages are valid")
    print(f"tests: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
