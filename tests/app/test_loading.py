import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mainspring.app.loading import load_app
from mainspring.domain.errors import AppNotLoaded

Write = Callable[[str, str], None]
_APP = "from mainspring.app.declare import App\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module into a folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def make(path: str, text: str) -> None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    yield make
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_by_name_and_without(write: Write) -> None:
    write("shop_a.py", _APP + "app = App('shop')\nalias = app\nnot_app = 1\n")
    found = load_app("shop_a:app")
    assert found.name == "shop"
    assert load_app("shop_a") is load_app("shop_a:") is load_app("shop_a:alias") is found


def test_inside_a_package(write: Write) -> None:
    write("shop_b/__init__.py", "")
    write("shop_b/jobs.py", _APP + "app = App('inner')\n")
    assert load_app("shop_b.jobs:app").name == "inner"


def test_several_apps_need_a_name(write: Write) -> None:
    write("shop_c.py", _APP + "a = App('a')\nb = App('b')\n")
    assert load_app("shop_c:b").name == "b"
    with pytest.raises(AppNotLoaded, match="shop_c holds 2 apps, one is needed") as caught:
        load_app("shop_c")
    assert caught.value.hint == "name it: shop_c:app"


def test_a_slip_in_a_declaration_keeps_its_own_hint(write: Write) -> None:
    write("shop_h.py", _APP + "app = App('h')\n@app.job\ndef pay() -> None: ...\n")
    with pytest.raises(AppNotLoaded, match=r"app.job takes options by name.*shop_h.py") as caught:
        load_app("shop_h:app")
    assert "@app.job()" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "reference", "words"),
    [
        ("", "", "'' names no module"),
        ("", ":app", "':app' names no module"),
        ("", "shop_d", "shop_d holds 0 apps, one is needed"),
        ("x = 1", "shop_d:x", "shop_d:x is not a Mainspring App"),
        ("", "shop_d:app", "shop_d:app is not a Mainspring App"),
        ("", "shop_e", "there is no module 'shop_e' in "),
        ("", "shop_d.jobs:app", "there is no module 'shop_d.jobs' in "),
        ("", "..shop_d", "..shop_d cannot be imported: TypeError: "),
        ("import no_such_part", "shop_d", "shop_d cannot be imported: No module named 'no_such_"),
        ("import shop_d.part", "shop_d", "shop_d cannot be imported: No module named 'shop_d.pa"),
        ("def (", "shop_d", "shop_d cannot be imported: SyntaxError: "),
        ("1 / 0", "shop_d", "shop_d cannot be imported: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "shop_d", "shop_d cannot be imported: SystemExit: 3"),
        ("from json import nope", "shop_d", "shop_d cannot be imported: ImportError: "),
    ],
)
def test_each_failure_is_one_clear_error(
    write: Write, text: str, reference: str, words: str
) -> None:
    write("shop_d.py", text)
    with pytest.raises(AppNotLoaded) as caught:
        load_app(reference)
    assert str(caught.value).startswith(words)
    assert caught.value.exit_code == 2


def test_a_declaration_that_is_refused_is_told_with_its_reason(write: Write) -> None:
    write("shop_f.py", _APP + "app = App('x')\n@app.job(queue='a b')\ndef f(): ...\n")
    with pytest.raises(AppNotLoaded, match="queue: 'a b' is not a name"):
        load_app("shop_f:app")


def test_loading_starts_nothing(write: Write) -> None:
    write(
        "shop_g.py",
        _APP + "def life():\n    raise RuntimeError('opened')\napp = App('x', lifespan=life)\n",
    )
    assert load_app("shop_g").lifespan is not None
