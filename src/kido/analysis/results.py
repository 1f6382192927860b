"""What a study found: values by name, statistics, files, data frames, plots."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from kido.analysis.factors import Array
from kido.attributes import dataclass
from kido.errors import FileFormatError, ModelError, NameLookupError
from kido.libraries import library
from kido.math.transform import numbers_or_nan
from kido.reprs import brief


def writable(what: str, path: Any) -> Path:
    """A path whose folder is there.

    Raises:
        ModelError: it is not, or that is no path.
    """
    if not isinstance(path, str | Path):
        raise ModelError(f"{what}: expected a path, got {path!r}")
    made = Path(path)
    if not made.absolute().parent.is_dir():
        raise ModelError(f"{what}: there is no folder {made.absolute().parent} for {made.name!r}")
    return made


@dataclass(frozen=True)
class StudyResult:
    """Parameters and what came of them.

    Attributes:
        names: of the factors.
        parameters: (samples, factors).
        outputs: names of the numbers that runs gave.
        values: (samples, outputs); NaN where a run failed.
        errors: why, by sample.
        identity: what the study was.
    """

    names: tuple[str, ...]
    parameters: Array
    outputs: tuple[str, ...]
    values: Array
    errors: dict[int, str]
    identity: dict[str, Any]

    __repr__ = brief

    def __getitem__(self, name: str) -> Array:
        """Values (samples,) of an output or a factor.

        Raises:
            NameLookupError: there is none of this name.
        """
        for names, table in ((self.outputs, self.values), (self.names, self.parameters)):
            if name in names:
                return table[:, names.index(name)]
        raise NameLookupError("output or factor", name, [*self.outputs, *self.names])

    def __len__(self) -> int:
        return len(self.parameters)

    def mean(self, name: str) -> tuple[float, float]:
        """Mean of an output over runs that did not fail, and its standard error."""
        good = self[name][np.isfinite(self[name])]
        if good.size < 2:
            raise ModelError(f"mean of {name!r}: expected two runs that did not fail, got {good.size}")
        return float(good.mean()), float(good.std(ddof=1) / np.sqrt(good.size))

    def quantiles(self, name: str, shares: Any = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of an output over runs that did not fail."""
        wanted = numbers_or_nan(shares)
        if not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise ModelError(f"quantiles of {name!r}: expected shares from 0 to 1, got {shares!r}")
        return np.nanquantile(self[name], wanted)

    def frame(self) -> Any:
        """A pandas data frame (extra `study`): a row for each sample, columns of factors and outputs."""
        pandas = library("pandas", "data frames", "study")
        return pandas.DataFrame({name: self[name] for name in (*self.names, *self.outputs)})

    def plot(self, path: str | Path, outputs: Any = None) -> None:
        """Write a picture: each output over each factor, and its distribution (extra `plot`).

        Raises:
            ModelError: there is no such folder.
            NameLookupError: no output of a name.
        """
        target = writable("plot", path)
        figures = library("matplotlib.figure", "plots of studies", "plot")

        chosen = self.outputs if outputs is None else tuple(outputs)
        columns = len(self.names) + 1
        figure = figures.Figure(figsize=(2.6 * columns, 2.2 * max(1, len(chosen))), layout="constrained")
        axes = figure.subplots(max(1, len(chosen)), columns, squeeze=False)
        shown = np.linspace(0, len(self) - 1, min(len(self), 5000)).astype(int)  # more are one blot
        for row, output in zip(axes, chosen):
            for axis, name in zip(row, self.names):
                axis.plot(self[name][shown], self[output][shown], ".", markersize=2, alpha=0.5)
                axis.set(xlabel=name, ylabel=output)
            good = self[output][np.isfinite(self[output])]
            row[-1].hist(good, bins=min(60, max(5, int(np.sqrt(max(good.size, 1))))))
            row[-1].set(xlabel=output, ylabel="samples")
        figure.savefig(target)

    def save(self, path: str | Path) -> None:
        """Write an HDF5 file: `parameters`, `values` with their names, and `errors`.

        Raises:
            ModelError: there is no such folder.
        """
        import h5py

        target = writable("save", path)
        beside = target.with_name(target.name + ".part")
        with h5py.File(beside, "w") as file:
            file.attrs["identity"] = json.dumps(self.identity)
            for what, names, table in (
                ("parameters", self.names, self.parameters),
                ("values", self.outputs, self.values),
            ):
                file.create_dataset(what, data=table, compression="gzip" if table.size > 1000 else None)
                file[what].attrs["names"] = list(names)
            texts = h5py.string_dtype()
            file.create_dataset("errors/samples", data=np.array(list(self.errors), dtype=np.int64))
            file.create_dataset("errors/texts", data=np.array(list(self.errors.values()), dtype=object), dtype=texts)
        os.replace(beside, target)

    @classmethod
    def load(cls, path: str | Path, identity: dict[str, Any] | None = None) -> StudyResult:
        """Read a file of `save`.

        Raises:
            FileFormatError: it is none.
            ModelError: it is of another study than the one expected.
        """
        import h5py

        try:
            with h5py.File(path, "r") as file:
                known = json.loads(str(file.attrs["identity"]))
                tables = {}
                for what in ("parameters", "values"):
                    listed: Any = file[what].attrs["names"]
                    tables[what] = tuple(str(name) for name in listed), np.asarray(file[what])
                samples, texts = (np.asarray(file[f"errors/{what}"]).tolist() for what in ("samples", "texts"))
                errors = {int(k): t.decode() if isinstance(t, bytes) else str(t) for k, t in zip(samples, texts)}
        except (OSError, KeyError, ValueError) as error:
            raise FileFormatError(path, None, f"expected the HDF5 file of a study: {error}") from None
        if identity is not None and known != identity:
            key = next((key for key in identity if known.get(key) != identity[key]), "identity")
            raise ModelError(
                f"{path}: is of another study: its {key} is {known.get(key)!r:.150}, expected "
                f"{identity.get(key)!r:.150}; choose another file"
            )
        (names, parameters), (outputs, values) = tables["parameters"], tables["values"]
        return cls(names, parameters, outputs, values, errors, known)
