"""The viewer: live in a browser, as a page that plays offline, as pictures and film.

viser (extra ``viewer``) is imported when something is shown, not with this package.
"""

from kido.viewer.browser import screenshot_html, screenshot_page
from kido.viewer.camera import BodyCamera, CameraPose
from kido.viewer.dragging import Drag
from kido.viewer.drawing import Drawable
from kido.viewer.export import EmbeddedPage, embed_html, export_film, export_html
from kido.viewer.mode_shapes import mode_shape
from kido.viewer.player import Player
from kido.viewer.plots import Plot
from kido.viewer.server import ViewerError
from kido.viewer.targets import Target, Targets
from kido.viewer.trajectory import Trajectory, TrajectorySampler
from kido.viewer.viewer import Viewer
from kido.viewer.webpage import Text

__all__ = [
    "BodyCamera",
    "CameraPose",
    "Drag",
    "Drawable",
    "EmbeddedPage",
    "Player",
    "Plot",
    "Target",
    "Targets",
    "Text",
    "Trajectory",
    "TrajectorySampler",
    "Viewer",
    "ViewerError",
    "embed_html",
    "export_film",
    "export_html",
    "mode_shape",
    "screenshot_html",
    "screenshot_page",
]
