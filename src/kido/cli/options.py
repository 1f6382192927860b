"""Commands and their options, as tyro reads them. Nothing heavy is imported here, so that help is instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from tyro.conf import FlagCreatePairsOff, Positional, UseAppendAction, arg

Port = Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: 8080 up)")]


@dataclass(kw_only=True)
class Reading:
    """How model files are read."""

    base: Literal["auto", "fixed", "free"] = "auto"
    """How the root of a URDF is held: fixed to the world, or free. auto: free for a lone body and for robots
    whose root carries several limbs."""
    package_dir: Annotated[list[str], UseAppendAction, arg(metavar="DIR", help_behavior_hint="")] = field(
        default_factory=list
    )
    """Folder in which package:// meshes are looked for; may be repeated."""
    no_visuals: Annotated[bool, FlagCreatePairsOff] = False
    """Leave out what is only drawn, so that a model loads whose visual meshes are missing."""

    def load(self, model: str) -> Any:
        """A skeleton or a world from a path or the name of a bundled model."""
        from kido.cli.loading import load_model

        return load_model(model, self.base, self.package_dir, not self.no_visuals)


@dataclass
class Simulate(Reading):
    """Simulate models: print how it went, record it, make a page of it, or show it live.

    Example: kido simulate humanoid --ground --duration 3 --record fall.h5 --html fall.html
    """

    model: Annotated[tuple[str, ...], Positional, arg(metavar="MODEL", help_behavior_hint="")] = ()
    """URDF, SDF or SKEL files, or names of bundled models (see `kido models`); several stand side by side."""
    world: Annotated[str | None, arg(metavar="FILE")] = None
    """SKEL or SDF world, or bundled one, to put the models into."""
    ground: bool = False
    """Add a ground plane; models that float freely are placed just above it."""
    duration: Annotated[float | None, arg(metavar="S", help_behavior_hint="(default: 5)")] = None
    """Simulated seconds; with --view: until closed, unless given."""
    dt: Annotated[float | None, arg(metavar="S", help_behavior_hint="(default: the world's, 0.001)")] = None
    """Time step in seconds."""
    solver: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None
    """Smooth motion only, by the fourth-order Runge-Kutta method, with closed loops held by this solver: auto, tree, TA
    (tree-augmented), FA (fully augmented) or CE (constraint embedding). It ends with an error where something touches
    or reaches a limit."""
    set: Annotated[list[str], UseAppendAction, arg(metavar="JOINT=VALUE", help_behavior_hint="")] = field(
        default_factory=list
    )
    """Initial position of a joint, in radians or metres, comma-separated if it has several coordinates; may
    be repeated, and is SKELETON/JOINT=VALUE where several models have the joint. Without any, bundled models that would
    stand still start from a pose in which they do not."""
    at: Annotated[list[tuple[float, float, float]], UseAppendAction, arg(metavar="X Y Z", help_behavior_hint="")] = (
        field(default_factory=list)
    )
    """Where to move a model, in metres; once for each model, in their order."""
    record: Annotated[str | None, arg(metavar="F.h5", help_behavior_hint="")] = None
    """Record to this HDF5 file."""
    every: Annotated[int, arg(metavar="N")] = 1
    """Record each N-th step."""
    html: Annotated[str | None, arg(metavar="F.html", help_behavior_hint="")] = None
    """Write a page that plays the motion in any browser, offline."""
    view: bool = False
    """Show it live in the browser."""
    port: Port = None
    """Port of the live view on this machine."""
    overwrite: bool = False
    """Replace an existing recording."""
    quiet: bool = False
    """Print nothing but errors."""


@dataclass
class View(Reading):
    """Show a model or a recording in the browser."""

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """URDF, SDF, SKEL, recording or modes of a flexible body (.h5), or the name of a bundled model."""
    html: Annotated[str | None, arg(metavar="F.html", help_behavior_hint="")] = None
    """Write a page instead of serving one."""
    mode: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """Of a file of modes: which one moves, from 1; without, sliders move them all."""
    port: Port = None
    """Port on this machine."""


@dataclass
class Info(Reading):
    """Print what a model or a recording holds: tree, masses, degrees of freedom, limits, loops."""

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """URDF, SDF, SKEL or recording, or the name of a bundled model."""
    json: bool = False
    """Print JSON."""


@dataclass
class Replay:
    """Play a recording or a motion: in the browser, as a page, or as a film. Without options, say what it holds."""

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """Recording (.h5), or motion (.bvh, .amc, .dof, .csv)."""
    model: Annotated[str | None, arg(metavar="MODEL")] = None
    """Of a motion: the model that moves, whose coordinates are found by name; .bvh and .amc have their own."""
    html: Annotated[str | None, arg(metavar="F.html", help_behavior_hint="")] = None
    """Write a page that plays it offline."""
    film: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write a film, .mp4, .webp or .gif; needs ffmpeg for .mp4."""
    view: bool = False
    """Play it in the browser, again and again."""
    fps: Annotated[float, arg(metavar="N")] = 30.0
    """Frames per second."""
    speed: Annotated[float, arg(metavar="X")] = 1.0
    """Recorded seconds per second, with --view and --film."""
    port: Port = None
    """Port on this machine."""
    quiet: bool = False
    """Print nothing but errors."""


@dataclass
class Analyze(Reading):
    """Dynamics of a motion: joint forces, momenta, energies, powers, pressure and contacts on the ground.

    Example: kido analyze walk.dof robot.urdf --cutoff 6 --out walk.csv --plot walk.png
    """

    file: Annotated[Positional[str], arg(metavar="MOTION")]
    """Motion (.bvh, .amc, .dof, .csv) or recording (.h5), which has real contact forces."""
    model: Annotated[str | None, Positional, arg(metavar="MODEL", help_behavior_hint="")] = None
    """The model that moves, whose coordinates are found by name. Recordings have their own; so have .bvh and .amc,
    whose bones are as dense as water."""
    partial: bool = False
    """Leave coordinates of the model that the motion lacks as they are."""
    out: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write all series, frame by frame, to .h5 or .csv."""
    plot: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Draw them, as .png, .svg or .pdf; needs matplotlib."""
    cutoff: Annotated[float | None, arg(metavar="HZ", help_behavior_hint="(default: not smoothed)")] = None
    """Frequency above which the motion is smoothed away; for motion capture about 6."""
    ground: Annotated[
        float | None, arg(metavar="M", help_behavior_hint="(default: the recording's, or lowest point)")
    ] = None
    """Height of the ground."""
    gravity: Annotated[tuple[float, float, float] | None, arg(metavar="X Y Z", help_behavior_hint="(the model's)")] = (
        None
    )
    """Gravity in m/s^2, against which is up."""
    body: Annotated[list[str], UseAppendAction, arg(metavar="NAME", help_behavior_hint="")] = field(
        default_factory=list
    )
    """Body that may touch the ground; may be repeated. By default all that collide."""
    skeleton: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None
    """Skeleton of a recording or a world with several."""
    overwrite: bool = False
    """Replace an existing file."""
    quiet: bool = False
    """Print nothing but errors."""


@dataclass
class Ik(Reading):
    """Show a model whose end effectors follow targets that you drag in the browser.

    Example: kido ik humanoid --effector left_hand --effector right_hand
    """

    file: Annotated[Positional[str], arg(metavar="MODEL")]
    """URDF, SDF or SKEL, or the name of a bundled model."""
    effector: Annotated[list[str], UseAppendAction, arg(metavar="NAME", help_behavior_hint="")] = field(
        default_factory=list
    )
    """Body or end effector with a target; may be repeated; NAME:PRIORITY sets its priority, 0 first. By default the end
    effectors of the model, or else the ends of its limbs, those it stands on first."""
    skeleton: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None
    """Skeleton of a world."""
    set: Annotated[list[str], UseAppendAction, arg(metavar="JOINT=VALUE", help_behavior_hint="")] = field(
        default_factory=list
    )
    """Initial position of a joint, in radians or metres, comma-separated if it has several coordinates."""
    port: Port = None
    """Port on this machine."""


@dataclass
class Demo:
    """Open an application, a short program with a model, keys and sliders, in the viewer. Without a name, list them.

    Example: kido demo boxes
    """

    name: Annotated[str | None, Positional, arg(metavar="NAME", help_behavior_hint="")] = None
    """Which one."""
    skeleton: Annotated[list[str], UseAppendAction, arg(metavar="FILE", help_behavior_hint="")] = field(
        default_factory=list
    )
    """Model of your own in place of the demo's, where it takes one; may be repeated."""
    motion: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Motion of your own in place of the demo's, where it takes one: .dof, .bvh, .amc, .csv."""
    duration: Annotated[
        float | None, arg(metavar="S", aliases=("--seconds",), help_behavior_hint="(default: the demo's)")
    ] = None
    """Run for so many simulated seconds, without the viewer unless --view is given, and print what is measured."""
    html: Annotated[str | None, arg(metavar="F.html", aliases=("--export",), help_behavior_hint="")] = None
    """Write a page that plays the motion in any browser, offline."""
    film: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Write a film, .mp4, .webp or .gif; needs ffmpeg for .mp4."""
    press: Annotated[list[str], UseAppendAction, arg(metavar="KEY", help_behavior_hint="")] = field(
        default_factory=list
    )
    """Key of the demo to press at the start; may be repeated."""
    view: bool = False
    """Open the viewer, also if a duration, a page or a film is asked for."""
    port: Port = None
    """Port of the live view on this machine."""
    quiet: bool = False
    """Print nothing but errors."""


@dataclass
class Convert(Reading):
    """Write a model as a file of another format: URDF, SDF, SKEL or MJCF, told by the extension.

    Example: kido convert robot.urdf robot.sdf
    """

    file: Annotated[Positional[str], arg(metavar="IN")]
    """URDF, SDF or SKEL, or the name of a bundled model."""
    to: Annotated[Positional[str], arg(metavar="OUT")]
    """File to write: .urdf, .sdf, .world, .skel or .xml (MJCF)."""
    skeleton: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None
    """Write this skeleton of a world only."""
    approximate: bool = False
    """Write what comes nearest for joints and shapes that the format lacks, instead of refusing the model."""
    reference_meshes: Annotated[bool, FlagCreatePairsOff] = False
    """Name mesh files where they are, instead of copying them into a folder beside the new file."""
    overwrite: bool = False
    """Replace an existing file."""
    quiet: bool = False
    """Print nothing but errors."""


@dataclass
class Warmup:
    """Compile all kernels now, in parallel, so that the first simulation starts at once."""

    processes: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: one per core)")] = None
    """How many processes compile at once."""
    quiet: bool = False
    """Print nothing but errors."""


@dataclass
class Study:
    """Run a study: many samples of a function of parameters, on all cores or many machines; resumable.

    Example: kido study slides.py --samples 100000 --workers 2 --out slides.h5
    """

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """Python file that defines a `kido.analysis.Study`."""
    samples: Annotated[int, arg(metavar="N", help_behavior_hint="(default: 1000)")] = 1000
    """Random samples."""
    sampler: Literal["random", "latin", "sobol"] = "random"
    """How they are drawn."""
    sweep: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """Instead: all combinations, of choices as they are and of N points of each range."""
    name: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None
    """Which study of the file, if it defines several."""
    out: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """HDF5 file for the result. The same command goes on where a killed one ended."""
    plot: Annotated[str | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Draw outputs over factors, as .png, .svg or .pdf; needs matplotlib."""
    workers: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: cores)")] = None
    """How many compute."""
    mode: Literal["threads", "processes", "ray"] = "threads"
    """What they are; ray needs its extra."""
    address: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="(default: a local one)")] = None
    """Ray cluster to join, with --mode ray."""
    quiet: bool = False
    """Print nothing but errors."""


@dataclass
class Models:
    """List the bundled models."""

    json: bool = False
    """Print JSON: paths by name."""


COMMAND_OPTIONS: dict[str, type] = {
    "simulate": Simulate,
    "view": View,
    "info": Info,
    "replay": Replay,
    "analyze": Analyze,
    "study": Study,
    "ik": Ik,
    "demo": Demo,
    "convert": Convert,
    "warmup": Warmup,
    "models": Models,
}
