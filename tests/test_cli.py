"""The command line: what it starts, what it refuses in a sentence, and that signals and exit codes are the server's."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from encoder.checkpoints import BUNDLED
from encoder.cli import app, main, ports, values
from encoder.cli.app_location import find_app
from encoder.cli.command import CommandError
from encoder.inputs import sound_files, spoken_digits
from encoder.inputs.digits import decode, examples
from tests.conftest import ROOT, Server, free_port


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Where the command would hand over to the server, note what it would run instead; the "server" ends with 7."""
    calls = []

    def note(command, environment) -> int:
        calls.append((command, environment))
        return 7

    monkeypatch.setattr(app, "_hand_over", note)
    monkeypatch.delenv(app.SHARED, raising=False)
    monkeypatch.delenv(app.ROOTS["models"], raising=False)
    return calls


def test_app_is_the_default(started, capsys):
    assert main.main([]) == 7
    assert main.main(["app"]) == 7
    (command, environment), (same, _) = started
    assert command == same
    assert command[:4] == [sys.executable, "-P", str(ROOT / "pages/core/server/app_server.py"), "run"]
    assert command[4] == str(ROOT / "app.py")
    assert "--server.address=localhost" in command
    assert "--browser.gatherUsageStats=false" in command
    assert "--server.showEmailPrompt=false" in command
    assert app.SHARED not in environment
    assert "--server.enableWebsocketCompression=false" in command
    assert "http://localhost:" in capsys.readouterr().out


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "encoder.cli.main", "trace", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--layer" in said.stdout


@pytest.mark.slow("starts the command in another process")
def test_a_reader_that_has_seen_enough_is_no_error():
    command = [sys.executable, "-m", "encoder.cli.main", "trace", "twin-pre", "--text", "a cat"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()  # long before there is something to print
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_options_reach_the_server(started, tmp_path: Path, capsys):
    port = free_port()
    assert main.main(["--host", "127.0.0.1", "--port", str(port), "--no-browser", "--models-root", str(tmp_path)]) == 7
    ((command, environment),) = started
    assert {"--server.address=127.0.0.1", f"--server.port={port}", "--server.headless=true"} <= set(command)
    assert environment[app.ROOTS["models"]] == str(tmp_path.resolve())
    assert app.SHARED not in environment
    assert f"http://127.0.0.1:{port} " in capsys.readouterr().out


def test_a_server_for_others_is_marked_as_shared(started, capsys):
    assert main.main(["--host", "0.0.0.0"]) == 7
    ((command, environment),) = started
    assert environment[app.SHARED] == "1"
    assert "--server.enableWebsocketCompression=true" in command
    assert "http://localhost:" in capsys.readouterr().out


def test_a_server_behind_a_proxy_is_marked_by_hand(started, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(app.SHARED, "1")
    assert main.main(["--host", "127.0.0.1"]) == 7
    ((command, environment),) = started
    assert environment[app.SHARED] == "1"
    assert "--server.enableWebsocketCompression=true" in command


def test_rooms_are_kept_where_the_operator_says(started, monkeypatch: pytest.MonkeyPatch, capsys):
    for place in ("off", "redis://127.0.0.1:6379/0"):
        assert main.main(["--rooms", place]) == 7
        assert started[-1][1][app.ROOMS] == place
    for wrong, without in (("mysql://here", ""), ("redis://127.0.0.1", "redis")):
        monkeypatch.setattr(values, "find_spec", lambda name, without=without: None if name == without else object())
        with pytest.raises(SystemExit) as ended:
            main.main(["--rooms", wrong])
        assert ended.value.code == 2
    assert "encoderscope[classroom]" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["localhost", "app.localhost", "127.0.0.1", "127.0.1.1", "::1", "[::1]"])
def test_addresses_that_admit_this_machine_alone(host: str):
    assert ports.is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "my-laptop", "localhost.example", ""])
def test_addresses_that_admit_others(host: str):
    assert not ports.is_loopback(host)


def test_a_taken_port_is_refused_or_passed_over(started, capsys, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        assert main.main(["--host", "127.0.0.1", "--port", str(taken)]) == 1
        assert f"port {taken} is taken" in capsys.readouterr().err
        assert not started

        monkeypatch.setattr(ports, "DEFAULT_PORT", taken)
        assert ports.choose_port("127.0.0.1", None) > taken
        monkeypatch.setattr(ports, "PORTS_TRIED", 1)
        with pytest.raises(CommandError, match=f"{taken} to {taken} are taken"):
            ports.choose_port("127.0.0.1", None)


@pytest.mark.parametrize("host", ["192.0.2.77", "no.such.host.invalid"])
def test_a_foreign_address_is_refused(host: str, started, capsys):
    assert main.main(["--host", host]) == 1
    message = capsys.readouterr().err
    assert f"cannot listen on {host}" in message
    assert "localhost" in message
    assert not started


def test_a_missing_folder_is_refused(started, tmp_path: Path, capsys):
    assert main.main(["--models-root", str(tmp_path / "nowhere")]) == 1
    assert re.search(r"nowhere\b.* folder\b", capsys.readouterr().err)
    assert not started


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http"])
def test_an_impossible_port_is_wrong_usage(port: str, started, capsys):
    with pytest.raises(SystemExit, match="2"):
        main.main([f"--port={port}"])
    assert "1 to 65535" in capsys.readouterr().err
    assert not started


def test_help_names_every_bundled_model(capsys):
    with pytest.raises(SystemExit):
        main.main(["trace", "--help"])
    assert set(BUNDLED) <= set(re.findall(r"[\w-]+", capsys.readouterr().out))


def test_help_names_the_commands(capsys):
    assert main.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(re.search(rf"^  {name}  +\w", said, re.MULTILINE) for name in main.COMMANDS)


def test_the_app_is_found_in_both_layouts(tmp_path: Path):
    package = tmp_path / "encoder"
    package.mkdir()
    with pytest.raises(CommandError, match="the app is missing"):
        find_app(package)
    (tmp_path / "app.py").touch()  # somebody else's: no project file next to it
    with pytest.raises(CommandError, match="the app is missing"):
        find_app(package)
    (tmp_path / "pyproject.toml").touch()
    assert find_app(package) == (tmp_path / "app.py").resolve()
    (tmp_path / "encoderscope_app").mkdir()
    (tmp_path / "encoderscope_app" / "app.py").touch()
    assert find_app(package) == (tmp_path / "encoderscope_app" / "app.py").resolve()


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "twin-pre", "--text", "a cat", "--out", "x" * 400 + ".html"],
        ["corpus", "build", "twin-pre", "--texts", "x" * 400 + ".txt", "--out", "y"],
        ["--models-root", "x" * 400],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_a_name_that_no_file_can_have(arguments: list[str], started, capsys):
    assert main.main(arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith("encoderscope: ")
    assert len(said) < 600


def test_a_command_for_texts_refuses_a_model_of_images(capsys):
    assert main.main(["similarity", "digits-pre", "--text", "a cat", "--text", "a dog", "--device", "cpu"]) == 1
    assert "accepts no text: choose a text model" in capsys.readouterr().err


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys):
    def pressed(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "choose_port", pressed)
    assert main.main([]) == 130
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow("starts the command in other processes")
def test_no_input_and_a_full_disk(capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert main.main(["trace", "twin-pre", "-"]) == 1
    assert "--text" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main.main(["app", "--port", "99999"])
    if Path("/dev/full").exists():
        command = [sys.executable, "-m", "encoder", "trace", "twin-pre", "--text", "a", "--device", "cpu"]
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert ended.returncode == 1
        assert "Traceback" not in ended.stderr


@pytest.mark.sample(2, "starts another server for another signal")
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX knows them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_server_quietly(number: signal.Signals, tmp_path: Path):
    """A terminal without any settings: no question is asked, and Ctrl-C leaves no traceback and no process behind."""
    (tmp_path / "app.py").write_text("import streamlit as st\nst.write('hello')\n")
    program = (
        "import pathlib, sys; from encoder.cli import app, main as cli; "
        f"app.find_app = lambda: pathlib.Path({str(tmp_path / 'app.py')!r}); sys.exit(cli.main())"
    )
    port = free_port()
    command = [sys.executable, "-c", program, "--host", "127.0.0.1", "--port", str(port), "--no-browser"]
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    log = tmp_path / "log"
    log.touch()
    Server(process, f"http://127.0.0.1:{port}", log).wait_until_ready()
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    text = output.decode()
    assert f"http://127.0.0.1:{port}" in text
    assert "Traceback" not in text
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_the_doctor_finds_what_is_missing(tmp_path: Path, capsys):
    (tmp_path / "broken").mkdir()
    code = main.main(["doctor", "--json", "--models-root", str(tmp_path)])
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert code == 1
    assert found["broken"]["state"] == "missing"
    assert found["twin-pre"]["state"] == found["torch"]["state"] == found["app"]["state"] == "ok"


@pytest.mark.parametrize("view", ["map", "lines", "text"])
def test_an_image_is_traced_from_its_file(view: str, tmp_path: Path, capsys: pytest.CaptureFixture):
    digit = Image.fromarray((decode(examples()["5"]) * 255).astype("uint8")).resize((80, 80), Image.Resampling.NEAREST)
    digit.save(tmp_path / "five.png")
    command = ["trace", "digits-post", "--file", str(tmp_path / "five.png"), "--layer", "2", "--head", "0"]
    assert main.main([*command, "--view", view, "--out", str(tmp_path / "head.html")]) == 0
    assert "17 tokens" in capsys.readouterr().out
    assert "r3 c2" in (tmp_path / "head.html").read_text(encoding="utf-8")


def test_a_pair_traces_an_image_file_or_a_text(tmp_path: Path, capsys: pytest.CaptureFixture):
    file = tmp_path / "five.png"
    Image.fromarray((decode(examples()["5"]) * 255).astype("uint8")).save(file)
    out = tmp_path / "weights.csv"
    for given, last in ((["--file", str(file)], "r3 c3"), (["--text", "a handwritten five"], "five")):
        assert main.main(["trace", "digit-words", *given, "--out", str(out)]) == 0
        assert last in out.read_text()
    assert main.main(["similarity", "digit-words", "--text", "a five", "--text", "a seven"]) == 0
    assert "five" in capsys.readouterr().out


def test_a_sound_is_traced_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "four.wav").write_bytes(sound_files.wav_bytes(spoken_digits.examples()["four"].sound))
    command = ["trace", "spoken-digits", "--file", str(tmp_path / "four.wav"), "--layer", "2", "--head", "0"]
    assert main.main([*command, "--out", str(tmp_path / "head.html")]) == 0
    assert "50 tokens" in capsys.readouterr().out
    assert "0.16-0.32 s b2" in (tmp_path / "head.html").read_text(encoding="utf-8")
    (tmp_path / "four.wav").write_bytes(b"no sound")
    assert main.main(command) != 0
    assert "four.wav" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        (b"", [], "empty"),
        (b"no image", [], "not an image"),
        (None, [], "No file"),
        (b"no image", ["--pair", "B"], "--pair"),
    ],
)
def test_what_is_no_image_is_refused(
    content: bytes | None, more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture
):
    path = tmp_path / "five.png"
    if content is not None:
        path.write_bytes(content)
    assert main.main(["trace", "digits-pre", "--file", str(path), *more]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["trace", "similarity"])
def test_the_help_names_every_bundled_model(command: str, capsys):
    with pytest.raises(SystemExit):
        main.main([command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(name in said for name in BUNDLED)
