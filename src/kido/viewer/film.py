"""Files written whole or not at all; pictures into files: PNG, and MP4 through ffmpeg."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from kido.viewer.server import ViewerError


def find_ffmpeg() -> str:
    """Path of the ffmpeg program.

    Raises:
        ViewerError: there is none on PATH.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise ViewerError(
            "MP4 export needs the program ffmpeg, which is not on PATH; install it with the system's package "
            "manager (apt install ffmpeg, brew install ffmpeg, winget install ffmpeg)"
        )
    return program


def on_white(image: np.ndarray) -> np.ndarray:
    """RGB picture (h, w, 3) of one that may be transparent (h, w, 4)."""
    if image.shape[2] == 3:
        return np.ascontiguousarray(image)
    alpha = image[..., 3:].astype(np.float32) / 255.0
    return np.round(image[..., :3] * alpha + 255.0 * (1.0 - alpha)).astype(np.uint8)


def write_png(path: str | os.PathLike, image: np.ndarray) -> Path:
    """Write a picture (h, w, 3) as PNG, whole or not at all."""
    import io

    import imageio.v3 as iio

    buffer = io.BytesIO()
    iio.imwrite(buffer, image, extension=".png")
    target = Path(path)
    write_whole(target, buffer.getvalue())
    return target


def check_writable(target: Path) -> None:
    """Raise a `ViewerError` if a file cannot be written."""
    if target.is_dir():
        raise ViewerError(f"Cannot write {str(target)!r}: it is a directory.")
    if not target.parent.is_dir():
        raise ViewerError(f"Cannot write {str(target)!r}: there is no directory {str(target.parent)!r}.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ViewerError(f"Cannot write {str(target)!r}: no permission.")


def write_whole(target: Path, data: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never seen half written."""
    check_writable(target)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            _put(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise ViewerError(f"Cannot write {str(target)!r}: {error.strerror or error}.") from error


def _put(part: str, target: Path) -> None:
    """Move a temporary file to its place, with the rights of a new file."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(part, 0o666 & ~mask)
    os.replace(part, target)


class Film:
    """An MP4 file that takes pictures one after another; appears at its path when closed without an error.

    Args:
        path: file to write, ending in .mp4.
        size: width and height, both even.
        fps: pictures per second.
    """

    def __init__(self, path: str | os.PathLike, size: tuple[int, int], fps: float) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() != ".mp4":
            raise ViewerError(f"A film is written as .mp4; {str(path)!r} does not end so.")
        check_writable(self.path)
        width, height = size
        if width % 2 or height % 2:
            raise ViewerError(f"Film size is {width} x {height}; both must be even.")
        if not (np.isfinite(fps) and 0 < fps <= 1000):
            raise ViewerError(f"Film frames per second are {fps!r}; expected a number above 0, at most 1000.")
        self.size, self.fps, self.frames = size, float(fps), 0
        program = find_ffmpeg()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the film)
        handle, self._part = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.stem}-", suffix=".mp4")
        os.close(handle)
        command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-", "-an"]
        command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]
        command.append(self._part)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            start_new_session=True,
        )

    def add(self, image: np.ndarray) -> None:
        """Append a picture (h, w, 3) of bytes."""
        width, height = self.size
        if image.shape != (height, width, 3):
            raise ViewerError(f"Picture has shape {image.shape}; the film is {(height, width, 3)}.")
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write(np.ascontiguousarray(image, dtype=np.uint8).tobytes())
        except BrokenPipeError as error:
            message = f"ffmpeg stopped while writing {str(self.path)!r}: {self._message()}"
            raise ViewerError(message) from error
        self.frames += 1

    def close(self, keep: bool = True) -> None:
        """End the film; ``keep=False`` throws it away."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
        except BrokenPipeError:
            pass
        code = self._process.wait()
        message = self._message()
        self._log.close()
        if keep and code == 0 and self.frames:
            _put(self._part, self.path)
            return
        os.unlink(self._part)
        if keep:
            raise ViewerError(f"ffmpeg could not write {str(self.path)!r} (exit {code}): {message}")

    def _message(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no message"

    def __enter__(self) -> Film:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        self.close(keep=kind is None)
