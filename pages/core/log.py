"""The server's log for an operator's tools: one JSON object a line (`encoderscope --log json`, ENCODERSCOPE_LOG=json).

Without it the log is Streamlit's, and a server that is well writes nothing. No line holds what a visitor typed, but for
the traceback of a page that failed.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any

LOG = "ENCODERSCOPE_LOG"
_NAME = "encoderscope"


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, logger, message, the event's own fields, and the error."""

    def __init__(self, *_: Any, **__: Any) -> None:  # uvicorn gives options of its own formatter
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def is_json() -> bool:
    """Whether the operator asked for lines of JSON."""
    return os.environ.get(LOG) == "json"


def begin() -> None:
    """Give every logger of the server the format that the operator asked for. Before Streamlit starts."""
    # What is no HTTP is answered with 400; a line for each would let anybody fill the log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    if not is_json():
        return
    import uvicorn.config
    from streamlit import logger as streamlits

    def with_json(logger: logging.Logger) -> None:
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonLines())
        logger.addHandler(handler)

    streamlits.setup_formatter = with_json
    for known in streamlits._loggers.values():
        with_json(known)
    own = logging.getLogger(_NAME)
    own.setLevel(logging.INFO)
    own.propagate = False
    with_json(own)
    with_json(logging.getLogger("uvicorn.error"))
    for name in ("default", "access"):
        uvicorn.config.LOGGING_CONFIG["formatters"][name] = {"()": JsonLines}


def event(message: str, **fields: object) -> None:
    """Write an event for the operator; without lines of JSON, nothing."""
    if is_json():
        logging.getLogger(_NAME).info(message, extra={"fields": fields})
