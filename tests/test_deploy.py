"""The container file, the unit and the documents of the operator name options, files and variables that exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from docs import limits as limits_page
from encoder.cli import main
from encoder.cli.command import Parser
from pages.base.access import limits
from pages.components import assets
from tests.conftest import ROOT

DEPLOY = ROOT / "deploy"
DOCUMENT = (ROOT / "docs/operations.md").read_text(encoding="utf-8")


def options_of(words: list[str]) -> None:
    """Parse the words of a command line; an option that does not exist ends with SystemExit."""
    Parser(main.COMMANDS["app"]).parse_args(words)


@pytest.mark.parametrize(("file", "port"), [("Containerfile", "8501"), ("space/Dockerfile", "7860")])
def test_the_container_runs_without_rights_on_options_that_exist(file: str, port: str):
    text = (DEPLOY / file).read_text()
    command = next(line for line in text.splitlines() if line.startswith("CMD ["))
    words = re.findall(r'"([^"]+)"', command)
    assert words[0].endswith("/encoderscope")
    options_of(words[1:])
    assert re.search(r"^USER 10\d+:10\d+$", text, re.MULTILINE)
    assert words[words.index("--port") + 1] == port
    assert f"EXPOSE {port}" in text
    assert f"127.0.0.1:{port}/_stcore/health" in text.partition("HEALTHCHECK")[2]
    assert re.findall(r"^COPY \. ", text, re.MULTILINE) == ["COPY . "]
    assert text.count("\nFROM ") + text.startswith("FROM ") == 2, "what builds is not in the image"
    assert ":latest" not in text


def test_both_containers_are_built_alike():
    """What they share is written twice, since each must be a file of its own: the stages, the variables, the check."""
    steps = []
    for file in ("Containerfile", "space/Dockerfile"):
        lines = (DEPLOY / file).read_text(encoding="utf-8").replace("8501", "7860").splitlines()
        own = ("#", "RUN useradd", "USER ", "CMD ")  # the account, and the options of the command
        steps.append([line for line in lines if line and not line.startswith(own)])
    assert steps[0] == steps[1]
    assert len(steps[0]) > 12


def test_the_services_of_compose_start_with_options_that_exist():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    command, *words = services["app"]["command"]
    assert command.endswith("/encoderscope")
    (front,) = services["front-file"]["command"]
    for line in (words, shlex.split(front)[1:-2]):
        line = [re.sub(r"\$\{\w+:-(\w+)\}", r"\1", word) for word in line]
        assert line.pop(0) == "serve"
        Parser(main.COMMANDS["serve"]).parse_args(line)
    assert not any(services["app"]["volumes"][0].endswith(f":{mode}") for mode in ("rw", "z"))
    assert all(one.get("read_only") for name, one in services.items() if name != "front-file")
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)


def test_the_space_names_the_port_of_its_container():
    front = yaml.safe_load((DEPLOY / "space/README.md").read_text(encoding="utf-8").split("---")[1])
    assert front["sdk"] == "docker"
    assert f"EXPOSE {front['app_port']}" in (DEPLOY / "space/Dockerfile").read_text(encoding="utf-8")


def test_the_service_starts_with_options_that_exist():
    text = (DEPLOY / "encoderscope.service").read_text()
    command = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    options_of(shlex.split(command.removeprefix("ExecStart="))[1:])
    assert "DynamicUser=yes" in text


def test_every_variable_of_the_document_is_read_somewhere():
    sources = "".join(
        path.read_text(encoding="utf-8") for path in [*ROOT.glob("encoder/**/*.py"), *ROOT.glob("pages/**/*.py")]
    )
    for name in set(re.findall(r"ENCODERSCOPE_[A-Z_]+", DOCUMENT)):
        assert name in sources, name
    for option in set(re.findall(r"`encoderscope(?: doctor| app)? (--[a-z-]+)", DOCUMENT)):
        assert any(option in one.flags for command in main.COMMANDS.values() for one in command.options), option


def test_the_table_of_limits_has_each_with_what_changes_it():
    rows = [line.strip("| ").split(" | ") for line in limits_page.text().splitlines() if line.startswith("| ")]
    shown = {what: cells for what, *cells in rows}
    for limit in limits.TABLE:
        usual, own, change = shown[limit.what]
        assert usual == f"{limit.usual:,} {limit.unit}".strip()
        assert (own == "the same") == (limit.own is None and not limit.own_said)
        assert change.strip("`") == (limit.variable or "-")
        assert not limit.variable or limit.variable in DOCUMENT
    configured = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))["server"]
    assert shown["one uploaded file"][0] == f"{configured['maxUploadSize']} MB"
    assert "memory" in shown[limits.TRACE.what][1]
    assert "memory" not in shown[limits.WORK.what][1], "work is not bounded by memory"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_install_script_is_valid_shell():
    assert subprocess.run(["sh", "-n", str(DEPLOY / "install.sh")], check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_a_folders_name_is_never_taken_for_a_package(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/constraints.txt").write_text("torch==2.13.0\n")
    # Instead of Python: makes the environment with itself, writes what it was asked, and fails at the second package.
    python = tmp_path / "python3"
    python.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n'
        'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
        'case "$*" in *--constraint*) exit 1;; esac\n'
    )
    python.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    command = ["sh", str(DEPLOY / "install.sh"), "src", "target"]
    assert subprocess.run(command, cwd=tmp_path, env=environment, check=False).returncode == 1
    assert (tmp_path / "asked").read_text().splitlines()[-1].split()[-1] == f"{tmp_path}/src[classroom]"


def test_an_installation_that_is_not_writable_has_every_script_before(tmp_path: Path):
    written = {path.name for path in assets.write_everything(tmp_path)}
    for path in assets.HERE.glob("*.py"):
        for name in re.findall(r'component\("(\w+)"\)', path.read_text(encoding="utf-8")):
            assert any(re.fullmatch(rf"{name}-[0-9a-f]{{16}}\.js", one) for one in written), name
    assert any(name.startswith("plotly-") for name in written)
