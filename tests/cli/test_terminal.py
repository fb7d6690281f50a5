"""What happens only where somebody sits at the machine."""

import sys
import threading
import webbrowser

import pytest

from rdf_kgeval.cli.terminal import open_browser


@pytest.mark.parametrize(
    ("display", "terminal", "opens"),
    [("DISPLAY", True, True), ("WAYLAND_DISPLAY", True, True), ("DISPLAY", False, False), ("", True, False)],
)
def test_a_browser_is_opened_where_there_is_a_display_and_a_terminal(
    monkeypatch: pytest.MonkeyPatch, display: str, terminal: bool, opens: bool
) -> None:
    opened: list[str] = []
    done = threading.Event()

    def open_(link: str) -> None:
        opened.append(link)
        done.set()

    monkeypatch.setattr(webbrowser, "open", open_)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    if display:
        monkeypatch.setenv(display, ":0")
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: terminal)
    open_browser("http://127.0.0.1:1/in/x")
    if opens:
        assert done.wait(10)
    assert opened == (["http://127.0.0.1:1/in/x"] if opens else [])
