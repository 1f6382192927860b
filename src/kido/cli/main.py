"""Entry of the command line: parses, runs a command, turns errors into messages and exit codes.

Exit codes: 0 done, 1 an error of the user or the model, 2 wrong usage, 130 Ctrl-C, 143 terminated.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from kido.errors import KidoError, KidoWarning
from kido.interrupts import deferred_signals


class Terminated(BaseException):
    """The process was asked to end (SIGTERM); files are closed on the way out."""


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """Within it SIGTERM raises `Terminated`, and neither this nor Ctrl-C goes unheard.

    Outside of the main thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGTERM, _terminate)
    try:
        with deferred_signals(SIGTERM=Terminated):
            yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


OWN_MODULES = ("simulate", "ik", "demo", "analyze", "study")  # the other commands stand in `kido.cli.commands`
OK, ERROR, USAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


RECORDINGS = (".h5", ".hdf5")  # endings of their names, by which they are known


class UsageError(KidoError):
    """An option has a value that makes no sense."""


def check_ending(option: str, path: str | None, *endings: str) -> None:
    """Refuse a file to write whose name does not say what it is.

    Raises:
        UsageError: it has none of the endings.
    """
    if path is not None and not path.lower().endswith(endings):
        raise UsageError(f"{option} {path}: expected a name that ends in {' or '.join(endings)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: without the program's name; those of the process by default.

    Returns:
        The exit code.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["-V"]):
        print(f"kido {version()}")
        return OK
    try:
        return _guarded(given)
    except BrokenPipeError:
        # The reader has seen enough, as in `kido info robot.urdf | head`. Python would complain on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def version() -> str:
    """Version of KIDO."""
    return import_module("kido").__version__


def _guarded(given: list[str]) -> int:
    options = _parse(given)
    if isinstance(options, int):
        return options
    try:
        with ended_cleanly(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            name = type(options).__name__.lower()
            module = import_module(f"kido.cli.{name if name in OWN_MODULES else 'commands'}")
            code = getattr(module, name)(options)
        sys.stdout.flush()
        return code
    except UsageError as error:
        _complain(error)
        return USAGE
    except KidoError as error:
        _complain(error)
        return ERROR
    except BrokenPipeError:
        raise
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}" if error.filename else error)
        return ERROR
    except MemoryError:
        _complain("out of memory")
        return ERROR
    except KeyboardInterrupt:
        print("kido: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Terminated:
        print("kido: terminated", file=sys.stderr)
        return TERMINATED


def _parse(given: list[str]) -> Any:
    """The options, or an exit code."""
    import tyro

    from kido.cli.options import COMMAND_OPTIONS

    try:
        return tyro.extras.subcommand_cli_from_dict(
            COMMAND_OPTIONS,
            prog="kido",
            description=(
                f"KIDO {version()}: kinematics, dynamics and simulation of articulated bodies.\n\n"
                "Start with: kido simulate humanoid --ground --html humanoid.html\n\n"
                "kido COMMAND --help tells the options of a command, kido --version the version."
            ),
            args=_split_settings(given) or ["--help"],
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except SystemExit as done:
        sys.stdout.flush()
        return done.code if isinstance(done.code, int) else USAGE


def _split_settings(given: list[str]) -> list[str]:
    """`--set a=1 b=2` as `--set a=1 --set b=2`; a file of that name stays a file."""
    result: list[str] = []
    after_setting = False
    for item in given:
        if after_setting and "=" in item and not item.startswith("-") and not Path(item).exists():
            if result[-1] != "--set":
                result.append("--set")
        else:
            after_setting = item == "--set"
        result.append(item)
    return result


def _show_warning(message: Any, category: type[Warning], filename: str, line: int, *more: Any) -> None:
    if issubclass(category, KidoWarning):
        print(f"kido: warning: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, line), file=sys.stderr, end="")


def _complain(error: object) -> None:
    print(f"kido: error: {error}", file=sys.stderr)
