"""The viewer: live in a browser, as a page that plays offline, as pictures and film.

viser (extra ``viewer``) is imported when something is shown, not with this package.
"""

from kido.viewer.browser import screenshot_html, screenshot_page
from kido.viewer.camera import BodyCamera, CameraPose
from kido.viewer.controls import Drawable
from kido.viewer.export import export_html, export_mp4
from kido.viewer.player import Player
from kido.viewer.server import ViewerError
from kido.viewer.targets import Target, Targets
from kido.viewer.trajectory import Trajectory, TrajectorySampler
from kido.viewer.viewer import Viewer

__all__ = [
    "BodyCamera",
    "CameraPose",
    "Drawable",
    "Player",
    "Target",
    "Targets",
    "Trajectory",
    "TrajectorySampler",
    "Viewer",
    "ViewerError",
    "export_html",
    "export_mp4",
    "screenshot_html",
    "screenshot_page",
]
