"""Questions by the SDK's own client, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client

from encoder.cli.agents.server import make_server

CAT = "The cat sat on the mat"
TEXTS = ["A cat sat on a mat.", "A kitten rested on a rug.", "The court raised the tax on fuel."]


def asked(name: str, given: Mapping[str, Any], root: Path | None = None) -> types.CallToolResult:
    """One question by a client of its own."""

    async def ask() -> types.CallToolResult:
        async with Client(make_server(root)) as client:
            return await client.call_tool(name, dict(given))

    return anyio.run(ask)


def answered(name: str, given: Mapping[str, Any], root: Path | None = None) -> dict[str, Any]:
    """The structure of an answer, which its text holds too."""
    result = asked(name, given, root)
    text = next(part.text for part in result.content if isinstance(part, types.TextContent))
    assert not result.is_error, text
    assert json.loads(text) == result.structured_content
    return json.loads(text)


def refused(name: str, given: Mapping[str, Any], root: Path | None = None) -> str:
    """The sentence of a question that is not answered."""
    result = asked(name, given, root)
    assert result.is_error
    [part] = result.content
    assert isinstance(part, types.TextContent)
    assert "\n" not in part.text
    assert "Traceback" not in part.text
    return part.text
