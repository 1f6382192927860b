"""Files written whole or not at all; pictures into files: PNG, and films as MP4, WebP and GIF."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kido.viewer.server import ViewerError
from kido.viewer.webpage import Text


def find_ffmpeg() -> str:
    """Path of the ffmpeg program.

    Raises:
        ViewerError: there is none on PATH.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise ViewerError(
            "An MP4 film needs the program ffmpeg, which is not on PATH; install it with the system's package "
            "manager (apt install ffmpeg, brew install ffmpeg, winget install ffmpeg), or write .webp or .gif"
        )
    return program


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
    """A film that takes pictures one after another; appears at its path when closed without an error.

    Args:
        path: file to write: .mp4 (by the program ffmpeg), or .webp or .gif, which play in a loop wherever pictures are
            shown.
        size: width and height; of MP4 both are even.
        fps: pictures per second; those of .gif and .webp are whole hundredths and thousandths of a second long.
    """

    def __init__(self, path: str | os.PathLike, size: tuple[int, int], fps: float) -> None:
        self.path = Path(path)
        kind = _WRITERS.get(self.path.suffix.lower())
        if kind is None:
            raise ViewerError(f"A film is written as {', '.join(_WRITERS)}; {str(path)!r} does not end so.")
        check_writable(self.path)
        width, height = size
        if kind is _Video and (width % 2 or height % 2):
            raise ViewerError(f"Film size is {width} x {height}; both must be even.")
        if not (np.isfinite(fps) and 0 < fps <= 1000):
            raise ViewerError(f"Film frames per second are {fps!r}; expected a number above 0, at most 1000.")
        self.size, self.fps, self.frames = size, float(fps), 0
        self._writer: _Video | _Pictures = kind(self.path, size, self.fps)

    def add(self, image: np.ndarray) -> None:
        """Append a picture (h, w, 3) of bytes."""
        width, height = self.size
        if image.shape != (height, width, 3):
            raise ViewerError(f"Picture has shape {image.shape}; the film is {(height, width, 3)}.")
        self._writer.add(np.ascontiguousarray(image, dtype=np.uint8).tobytes())
        self.frames += 1

    def close(self, keep: bool = True) -> None:
        """End the film; ``keep=False`` throws it away."""
        self._writer.close(keep, self.frames)

    def __enter__(self) -> Film:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        self.close(keep=kind is None)


def _part_of(path: Path) -> str:
    """A temporary file beside a file."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    return part


class _Video:
    """Pictures to ffmpeg."""

    def __init__(self, path: Path, size: tuple[int, int], fps: float) -> None:
        self.path = path
        program = find_ffmpeg()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the film)
        self._part = _part_of(path)
        command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{size[0]}x{size[1]}", "-r", f"{fps:g}", "-i", "-", "-an"]
        command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]
        command.append(self._part)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            start_new_session=True,
        )

    def add(self, pixels: bytes) -> None:
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write(pixels)
        except BrokenPipeError as error:
            message = f"ffmpeg stopped while writing {str(self.path)!r}: {self._message()}"
            raise ViewerError(message) from error

    def close(self, keep: bool, frames: int) -> None:
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
        except BrokenPipeError:
            pass
        code = self._process.wait()
        message = self._message()
        self._log.close()
        if keep and code == 0 and frames:
            _put(self._part, self.path)
            return
        os.unlink(self._part)
        if keep:
            raise ViewerError(f"ffmpeg could not write {str(self.path)!r} (exit {code}): {message}")

    def _message(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no message"


class _Pictures:
    """Pictures into one that moves, by Pillow; they wait in a file until the film is closed."""

    def __init__(self, path: Path, size: tuple[int, int], fps: float) -> None:
        self.path, self._size, self._fps = path, size, fps
        self._raw = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the film)

    def add(self, pixels: bytes) -> None:
        self._raw.write(pixels)

    def close(self, keep: bool, frames: int) -> None:
        try:
            if keep and not frames:
                raise ViewerError(f"A film needs a picture; {str(self.path)!r} is not written.")
            if keep:
                self._write(frames)
        finally:
            self._raw.close()

    def _write(self, frames: int) -> None:
        self._raw.flush()
        webp = self.path.suffix.lower() == ".webp"
        # Rounded so that the film as a whole is neither too fast nor too slow.
        unit = 1 if webp else 10  # [ms]
        ends = np.round(np.arange(frames + 1) * 1000.0 / self._fps / unit).astype(int) * unit
        options = {"quality": 80, "method": 4, "allow_mixed": True} if webp else {"optimize": False}
        pictures = self._pictures(frames, webp)
        part = _part_of(self.path)
        try:
            next(pictures).save(
                part, save_all=True, append_images=pictures, duration=np.diff(ends).tolist(), loop=0, **options
            )
            _put(part, self.path)
        except BaseException:
            os.unlink(part)
            raise

    def _pictures(self, frames: int, webp: bool) -> Iterator[Any]:
        from PIL import Image

        width, height = self._size
        pixels = np.memmap(self._raw, np.uint8, "r", shape=(frames, height, width, 3))
        if webp:
            yield from map(Image.fromarray, pixels)
            return
        # One palette, of a few pictures, for all: what stands still does not flicker.
        some = pixels[np.linspace(0, frames - 1, 9).round().astype(int)]
        colors = Image.fromarray(np.concatenate(some)).quantize(256)
        for image in pixels:
            yield Image.fromarray(image).quantize(palette=colors, dither=Image.Dither.NONE)


_WRITERS: dict[str, type[_Video] | type[_Pictures]] = {".mp4": _Video, ".webp": _Pictures, ".gif": _Pictures}


def write_texts(image: np.ndarray, texts: Sequence[Text]) -> np.ndarray:
    """A picture (h, w, 3) with the texts over it where the page has them."""
    if not texts:
        return image
    from PIL import Image, ImageDraw

    picture = Image.fromarray(image)
    draw = ImageDraw.Draw(picture)
    for place in dict.fromkeys(t.place for t in texts):
        here = [t for t in texts if t.place == place]
        lines = [(t, line) for t in here for line in t.text.split("\n")]
        y = MARGIN if place.startswith("top") else image.shape[0] - MARGIN - LINE * sum(t.size for t, _ in lines)
        for t, line in lines:
            letters = font(t.size)
            room = image.shape[1] - 2 * MARGIN - draw.textlength(line, letters)
            share = 0.0 if place.endswith("left") else 1.0 if place.endswith("right") else 0.5
            draw.text((MARGIN + share * room, y), line, t.color, letters)
            y += LINE * t.size
    return np.asarray(picture)


@functools.cache
def font(size: float) -> Any:
    """One of the system's, which know all letters; else Pillow's, which knows those of English."""
    from PIL import ImageFont

    for name in ("DejaVuSans.ttf", "LiberationSans-Regular.ttf", "Arial.ttf", "Helvetica.ttc"):
        with contextlib.suppress(OSError):
            return ImageFont.truetype(name, size)
    return ImageFont.load_default(size)


MARGIN = 16
"""Pixels between a text and the edge of a picture."""

LINE = 1.35
"""From one line to the next, by the size of the letters."""
