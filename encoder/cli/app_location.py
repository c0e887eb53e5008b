"""Where the app's own script is: beside the package in a wheel, or in a checkout."""

from pathlib import Path

from encoder.cli.command import CommandError


def find_app(package: Path = Path(__file__).parents[1]) -> Path:
    """The script that Streamlit runs: beside `package` in a wheel, or `app.py` of a checkout.

    Raises:
        CommandError: neither is there.
    """
    home = package.resolve().parent
    installed, checkout = home / "encoderscope_app" / "app.py", home / "app.py"
    if installed.is_file():
        return installed
    # Any project may put an app.py into site-packages: only one next to a project file is ours.
    if checkout.is_file() and (home / "pyproject.toml").is_file():
        return checkout
    raise CommandError(f"the app is missing: no file {installed}. Install again with: pip install encoderscope")
