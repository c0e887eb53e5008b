"""The server's log for an operator's tools: one JSON object a line (`encoderscope --log json`, ENCODERSCOPE_LOG=json).

Without it the log is Streamlit's, and a server that is well writes nothing. No line holds what a visitor typed, but for
the traceback of a page that failed.
"""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any

LOG = "ENCODERSCOPE_LOG"
_NAME = "encoderscope"
#: Streamlit's option under which its lines are nothing but the message of a record.
BARE = {"logger.messageFormat": "%(message)s"}


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
    """Give every logger of the server the format that the operator asked for. Before Streamlit is configured."""
    # What is not HTTP is answered with 400; a line for each would let anybody fill the log.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno >= logging.ERROR)
    if not is_json():
        return
    import uvicorn.config

    logging.setLogRecordFactory(_Record)
    for name in ("default", "access"):
        uvicorn.config.LOGGING_CONFIG["formatters"][name] = {"()": JsonLines}
    own = logging.getLogger(_NAME)
    own.setLevel(logging.INFO)
    own.propagate = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    own.addHandler(handler)


class _Record(logging.LogRecord):
    """A record of Streamlit whose message is the whole line of JSON: each of its loggers has a handler of its own."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if self.name.partition(".")[0] == "streamlit":
            self.msg, self.args, self.exc_info = JsonLines().format(self), (), None


def event(message: str, **fields: object) -> None:
    """Write an event for the operator; without lines of JSON, nothing."""
    if is_json():
        logging.getLogger(_NAME).info(message, extra={"fields": fields})
