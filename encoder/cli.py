"""The `encoderscope` command: starts the app, from a checkout and from an installed wheel alike; traces a sentence.

Streamlit is never imported here. It runs in a Python of its own, which on POSIX takes this process's place,
so that Ctrl-C, SIGTERM and the exit code are the server's and no second interpreter stays in memory.
"""

from __future__ import annotations

import argparse
import errno
import ipaddress
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from encoder import __version__

if TYPE_CHECKING:
    from encoder.export import HeadView
    from encoder.trace import Trace

DEFAULT_PORT = 8501
PORTS_TRIED = 100
MODELS_ROOT = "ENCODERSCOPE_MODELS_ROOT"
SHARED = "ENCODERSCOPE_SHARED"
#: glibc keeps 128 MB of freed memory, and all blocks below 32 MB, for a process's next use. By default it returns a
#: freed trace to the system, and the next trace fetches it again page by page (10 % more time at 512 tokens).
MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(128 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}


class CommandError(Exception):
    """Something that the person at the command line can put right; its text is the whole message."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: this process's own) and return the exit code.

    0: done. 1: an error, said in a sentence. 2: wrong usage. After `app`, what the server ended with.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] not in (*COMMANDS, "-h", "--help", "--version"):
        arguments.insert(0, "app")
    options = build_parser().parse_args(arguments)
    try:
        return options.run(options)
    except CommandError as error:
        print(f"encoderscope: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever reads what is printed has seen enough, like `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return 0


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line: one sub-parser for each of `COMMANDS`."""
    parser = argparse.ArgumentParser(
        prog="encoderscope",
        description="See what a transformer encoder does with a sentence.",
        epilog="Without a command `app` runs: `encoderscope --port 8600` is `encoderscope app --port 8600`. "
        "`encoderscope COMMAND --help` lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"encoderscope {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in COMMANDS.values():
        add(subparsers)
    return parser


def start_app(options: argparse.Namespace) -> int:
    """Start the app and open it in the browser; Ctrl-C stops it."""
    app = find_app()
    environment = dict(os.environ)
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in pages/core/serve.py
    environment |= malloc_settings(environment)
    if options.models_root is not None:
        environment[MODELS_ROOT] = str(_existing_folder(options.models_root))
    if not is_loopback(options.host):
        environment[SHARED] = "1"
    shared = environment.get(SHARED) == "1"  # set by hand where a proxy on this machine lets the others in
    port = choose_port(options.host, options.port)
    print(_announcement(options.host, port), flush=True)
    command = streamlit_command(app, options.host, port, browser=not options.no_browser, shared=shared)
    return _hand_over(command, environment)


def malloc_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What `environment` needs so that the app keeps freed memory; nothing where it configures malloc itself."""
    configured = MALLOC.keys() & environment.keys() or "glibc.malloc" in environment.get("GLIBC_TUNABLES", "")
    return {} if configured else MALLOC


def trace_sentence(options: argparse.Namespace) -> int:
    """Run one sentence and write one head of it to a file; without `--out`, print its strongest weights."""
    from encoder import ImageEncoder, load
    from encoder.errors import EncoderError
    from encoder.export import report
    from encoder.export.python_code import ModelOrigin

    if options.out is not None:
        _check_output(options.out, report.FORMATS)
    if options.padding and options.pad_to is None:
        raise CommandError("--padding needs --pad-to N: give that length too, or leave --padding out.")
    origin = ModelOrigin(options.model, norm=options.norm, device=options.device)
    try:
        model = load(options.model, device=options.device)
        if isinstance(model, ImageEncoder):
            raise CommandError(f"{model.name} reads images: choose a text model with --model.")
        if options.norm != "trained":
            model = model.with_norm_placement(options.norm)
        text = sys.stdin.read().strip() if options.sentence == "-" else options.sentence
        trace = model.trace(text, options.pair, pad_to=options.pad_to)
        view = _view_of(trace if options.padding else trace.unpadded, options)
        if options.out is None:
            print(view.strongest().to_string(index=False, float_format="{:.3f}".format), flush=True)
            return 0
        content = report.file(options.out.suffix.lower(), model, origin, view)
    except EncoderError as error:
        raise CommandError(str(error)) from None
    _write(options.out, content)
    print(f"{options.out}: {view.name} of {model.name}, {view.trace.n_tokens:,} tokens, {len(content):,} bytes")
    return 0


def _view_of(trace: Trace, given: argparse.Namespace) -> HeadView:
    """The view that the options ask for. Raises CommandError for an option of another view."""
    from encoder import export

    for name, view in {"overlay": "lines", "least": "lines", "direction": "text"}.items():
        if getattr(given, name) is not None and given.view != view:
            raise CommandError(f"--{name} belongs to --view {view}: leave it out, or choose that view.")
    selected = given.hold or ()
    if any(token >= trace.n_tokens for token in selected):
        raise CommandError(f"--hold: the tokens of this text are 0 to {trace.n_tokens - 1}.")
    options = export.Options(special=given.special, padding=given.padding)
    place = (given.layer, given.head)
    if given.view == "lines":
        heads = list(dict.fromkeys([place, *(given.overlay or ())]))
        return export.lines(trace, heads, threshold=given.least or 0.0, queries=selected, options=options)
    if given.view == "text":
        direction = given.direction or "to"
        return export.text(trace, *place, direction=direction, selected=selected, options=options)
    return export.map(trace, *place, queries=selected, options=options)


def _check_output(path: Path, formats: Mapping[str, str]) -> None:
    """Say what is wrong with a file's name before the model is loaded for it."""
    if path.suffix.lower() not in formats:
        raise CommandError(f"--out {path}: its name must end in one of {', '.join(formats)}.")
    if path.is_dir():
        raise CommandError(f"--out {path} is a folder; give the name of a file in it.")
    if not path.absolute().parent.is_dir():
        raise CommandError(f"--out {path}: there is no folder {path.parent}. Make it first, or choose another.")


def _write(path: Path, content: bytes) -> None:
    """Put the whole file in place at once: whoever interrupts finds the old one or the new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            partial.write_bytes(content)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"cannot write {path}: {reason}. Choose another place with --out.") from None


def find_app(package: Path = Path(__file__).parent) -> Path:
    """The script that Streamlit runs: what the wheel put beside `package`, or a checkout's own `app.py`.

    Raises:
        CommandError: neither is there.
    """
    home = package.resolve().parent
    installed, checkout = home / "encoderscope_app" / "app.py", home / "app.py"
    if installed.is_file():
        return installed
    # In site-packages an app.py may be anybody's: only a project file beside it makes it ours.
    if checkout.is_file() and (home / "pyproject.toml").is_file():
        return checkout
    raise CommandError(f"the app is missing: there is no {installed}. Install again with: pip install encoderscope")


def streamlit_command(app: Path, host: str, port: int, *, browser: bool, shared: bool = False) -> list[str]:
    """The command that serves `app`; what is the same for every start stands in .streamlit/config.toml."""
    options = {
        "server.address": host.strip("[]"),
        "server.port": port,
        # Streamlit's own welcome asks an outside server for this machine's public address.
        "logger.hideWelcomeMessage": True,
        # The two that must hold before the app's config is found, whatever the home directory's says.
        "server.showEmailPrompt": False,
        "browser.gatherUsageStats": False,
        # A view of 64 tokens is 0.40 MB, and 0.16 compressed, for some 20 ms of a core: right where sixty share the
        # air of a classroom, wrong between two programs on one machine.
        "server.enableWebsocketCompression": shared,
    }
    if not browser:  # left alone otherwise: without a display Streamlit opens none by itself
        options["server.headless"] = True
    flags = [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options.items()]
    # -P: the folder the command is typed in is no place to import from.
    serve = app.parent / "pages" / "core" / "serve.py"
    streamlit = [str(serve)] if serve.is_file() else ["-m", "streamlit"]
    return [sys.executable, "-P", *streamlit, "run", str(app), *flags]


def is_loopback(host: str) -> bool:
    """Whether `host` is reached from this machine alone; of names, only localhost is sure to be."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def choose_port(host: str, wanted: int | None) -> int:
    """The port to listen on: `wanted`, or without one the first free from 8501.

    Raises:
        CommandError: `wanted` is taken, nothing is free, or `host` is no address of this machine.
    """
    candidates = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if wanted is None else [wanted]
    for port in candidates:
        if _can_listen(host, port):
            return port
    if wanted is None:
        raise CommandError(f"the ports {candidates[0]} to {candidates[-1]} are taken. Choose another with --port.")
    raise CommandError(f"port {wanted} is taken or not allowed. Choose another with --port, or leave --port out.")


def _can_listen(host: str, port: int) -> bool:
    host = host.strip("[]")
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES, errno.EPERM):
            return False
        reason = error.strerror or error
        raise CommandError(
            f"cannot listen on {host}: {reason}. Use localhost, 0.0.0.0 or an address of this machine."
        ) from None
    return True


def _announcement(host: str, port: int) -> str:
    bare = host.strip("[]")
    if bare in ("0.0.0.0", "::"):
        addresses = ["localhost", *_network_address()]
    else:
        addresses = [f"[{bare}]" if ":" in bare else bare]
    return f"Encoderscope: {'  '.join(f'http://{address}:{port}' for address in addresses)}  (Ctrl-C stops it)"


def _network_address() -> list[str]:
    """The address that others on the network reach this machine at, where there is a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # RFC 5737's example network: chooses a route, and sends nothing
        except OSError:
            return []
        return [probe.getsockname()[0]]


def _existing_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise CommandError(f"--models-root {folder} is not a folder. Give the one that holds the models' folders.")
    return folder.resolve()


def _hand_over(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run `command` in this process's place; where the system cannot, wait for it and return its exit code.

    While waiting, Ctrl-C reaches the server as well, and the wait goes on until that has closed its sessions.
    """
    if os.name == "posix":
        os.execve(command[0], command, environment)
    server = subprocess.Popen(command, env=environment)
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            continue


def _add_app(subparsers: argparse._SubParsersAction) -> None:
    app = subparsers.add_parser(
        "app",
        help="open the app in the browser (the default)",
        description="Open the app in the browser; Ctrl-C stops it.",
    )
    app.add_argument(
        "--host",
        default="localhost",
        metavar="ADDRESS",
        help="address to listen on (default: %(default)s, this machine alone; 0.0.0.0 lets others in)",
    )
    app.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help=f"port to listen on (default: the first free one from {DEFAULT_PORT})",
    )
    app.add_argument("--no-browser", action="store_true", help="print the address and open no browser window")
    app.add_argument(
        "--models-root",
        type=Path,
        metavar="DIR",
        help="folder of local models, then the only place that models are opened from",
    )
    app.set_defaults(run=start_app)


def _add_trace(subparsers: argparse._SubParsersAction) -> None:
    trace = subparsers.add_parser(
        "trace",
        help="run a sentence and save what one head does with it",
        description="Run a sentence and save what one head does with it: a report that opens without a network "
        "(.html), or the attention weights (.csv, .parquet). Without --out the strongest weights are printed.",
    )
    trace.add_argument("sentence", metavar="SENTENCE", help="what the encoder reads; - takes it from standard input")
    trace.add_argument("--pair", metavar="SENTENCE", help="a second sentence, for segment B")
    trace.add_argument(
        "--pad-to", type=int, metavar="N", help="run it as in a batch whose longest text has N tokens, with padding"
    )
    trace.add_argument(
        "--padding", action="store_true", help="show the rows and columns of padding, too (default: left out)"
    )
    trace.add_argument("--layer", type=int, default=0, metavar="N", help="counted from 0 (default: %(default)s)")
    trace.add_argument("--head", type=int, default=0, metavar="N", help="counted from 0 (default: %(default)s)")
    trace.add_argument("--out", type=Path, metavar="FILE", help="the file to write: .html, .csv or .parquet")
    trace.add_argument(
        "--model",
        default="minilm",
        metavar="MODEL",
        help="minilm, twin-pre, twin-post, a folder or a Hub id (default: %(default)s)",
    )
    trace.add_argument(
        "--norm",
        choices=("trained", "pre", "post"),
        default="trained",
        help="where the norms stand (default: as trained; elsewhere they are moved without training)",
    )
    trace.add_argument(
        "--special",
        choices=("show", "zero", "renormalise"),
        default="show",
        help="special tokens such as [CLS]: shown, their cells 0, or left out and rows scaled to sum to 1",
    )
    trace.add_argument(
        "--view",
        choices=("map", "lines", "text"),
        default="map",
        help="the head as a map, as lines from token to token, or as the text shaded by it (default: %(default)s)",
    )
    trace.add_argument(
        "--hold",
        type=_numbers,
        metavar="N,N",
        help="lines, text: positions of the tokens that are looked at, counted from 0; their weights are summed",
    )
    trace.add_argument(
        "--overlay", type=_heads, metavar="L.H,L.H", help="lines: more heads, layer.head, drawn over this one"
    )
    trace.add_argument("--least", type=_share, metavar="W", help="lines: weights below are not drawn (default: 0)")
    trace.add_argument(
        "--direction",
        choices=("to", "from"),
        help="text: shaded by what the held tokens attend to, or by who attends to them (default: to)",
    )
    trace.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), default="auto", help="where it runs")
    trace.set_defaults(run=trace_sentence)


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: give whole numbers with commas between them, like 3,5")
    return [int(part) for part in parts]


def _heads(text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        layer, _, head = part.strip().partition(".")
        if not (layer.isascii() and layer.isdigit() and head.isascii() and head.isdigit()):
            raise argparse.ArgumentTypeError(f"{text!r}: give layer.head with commas between them, like 0.2,1.8")
        found.append((int(layer), int(head)))
    return list(dict.fromkeys(found))


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no weight; give a number from 0 to 1")
    return value


def _port(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 1 to 65535")
    return int(text)


COMMANDS = {"app": _add_app, "trace": _add_trace}

if __name__ == "__main__":
    sys.exit(main())
