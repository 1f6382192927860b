"""Images without a screen: colour, depth and segmentation, of one state or of thousands, by compiled code alone."""

from kido.rendering.camera import Camera, CameraNode, Pinhole, look_at
from kido.rendering.deforming import Deformation
from kido.rendering.renderer import Images, Renderer

__all__ = ["Camera", "CameraNode", "Deformation", "Images", "Pinhole", "Renderer", "look_at"]
