"""What KIDO adds to the pages that viser serves and writes: title, texts over the picture, and `webpage.js`."""

from __future__ import annotations

import functools
import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kido.errors import NameLookupError, StateError
from kido.rendering import palette

PLACES = ("top left", "top", "top right", "bottom left", "bottom", "bottom right")


@functools.cache
def script() -> str:
    """What runs in every page."""
    top, bottom = (f"rgb{color}" for color in palette.SKY)
    text = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    return text.replace("KIDO_SKY", f"linear-gradient({top}, {bottom})")


def page_title(name: str) -> str:
    """Title of a page that shows a model of this name."""
    return f"KIDO · {name}"


def with_script(page: str, title: str, aspect: float) -> str:
    """A page that viser wrote, with a title, whose first camera was made for windows of this width by height."""
    page = page.replace("<title>Viser</title>", f"<title>{html.escape(page_title(title), quote=False)}</title>", 1)
    added = f"<script>window.__KIDO_ASPECT__={float(aspect)!r};{script()}</script>"
    return page.replace("</head>", f"{added}</head>", 1)


class Text:
    """A text over the picture, at an edge or corner of it.

    Attributes:
        place: one of ``kido.viewer.webpage.PLACES``.
        size: height of the letters in pixels.
        color: (r, g, b) bytes.
    """

    def __init__(self, text: str, place: str, size: float, color: tuple[int, int, int], changed: Callable[[], None]):
        self._text, self.place, self.size, self.color, self._changed = text, place, size, color, changed
        self.removed = False

    @property
    def text(self) -> str:
        """What it says; set to change it."""
        return self._text

    @text.setter
    def text(self, value: Any) -> None:
        if str(value) != self._text:
            self._text = str(value)
            self._changed()

    def remove(self) -> None:
        """Take it off the page; a second call does nothing."""
        if not self.removed:
            self.removed = True
            self._changed()


class Webpage:
    """Runs the script in the live pages of a viser server, and tells it the texts.

    Args:
        server: viser's.
        name: of what is shown, for the title.
    """

    def __init__(self, server: Any, name: str) -> None:
        self.title = page_title(name)
        self.texts: list[Text] = []
        # HTML that runs code wherever viser puts it: a picture that cannot be shown says so by a call.
        code = f"document.title={json.dumps(self.title)};{script()}"
        server.gui.add_html(f'<img src="data:," alt="" hidden onerror="{html.escape(code)}">')
        self._label = server.scene.add_label("/kido", "[]", visible=False)

    def add_text(self, text: str, place: str, size: float, color: Any) -> Text:
        """A text over the picture; see :meth:`kido.viewer.Viewer.add_text`."""
        if place not in PLACES:
            raise NameLookupError("place of a text", place, PLACES)
        if not 1 <= size <= 500:
            raise StateError(f"Size of a text is {size!r} pixels; expected a number from 1 to 500.")
        rgb = palette.TEXT if color is None else palette.rgba(color)[0]
        added = Text(str(text), place, float(size), rgb, self._changed)
        self.texts.append(added)
        self._changed()
        return added

    def _changed(self) -> None:
        self.texts = [t for t in self.texts if not t.removed]
        self._label.text = json.dumps(
            [{"text": t.text, "place": t.place, "size": t.size, "color": f"rgb{t.color}"} for t in self.texts]
        )
