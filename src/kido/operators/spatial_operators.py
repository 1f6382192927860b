"""All spatial operators of a skeleton, or of some of its bodies, at one state."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.joints import JointKind
from kido.math.transform import as_numbers
from kido.operators import sweeps
from kido.operators.body_list import OWN_SPACE, BodyList, Space
from kido.operators.expression import Identity, Operator
from kido.operators.inverses import known_inverses
from kido.operators.leaves import ARTICULATED, SYMBOLS, Beyond, Blockwise, Hinges, Matrix, NodeMap, Propagation, Strict
from kido.operators.linear import Array, OperatorError
from kido.operators.lyapunov import Lyapunov
from kido.operators.state import OperatorState
from kido.skeleton import DegreeOfFreedom
from kido.skeleton.state.subsets import Dofs, indices_of

_SINGLE_AXIS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SCREW)
_ARTICULATED = frozenset([ARTICULATED])


def _star(name: str) -> Any:
    return property(lambda self: getattr(self, name).T, doc=f"The transpose of `{name}`.")


class SpatialOperators(OperatorState):
    """The operators H, phi, M, ... of a skeleton's bodies at one state, by which its dynamics is written down.

    Vectors of spatial operators stack [angular; linear] vectors of all bodies, in world axes about each body's origin
    (6 numbers a body, parents first, bodies that are welded too); joint vectors stack the hinges' coordinates.
    Of a skeleton these are in the order of its state; of fewer bodies `dofs` tells them.

    The state is that of the moment when the operators are made, and stays: a skeleton that moves on does not change
    them. `at` makes those of another state, and expressions never mix the two; `move_to` takes operators, and all
    expressions of them, to another state.

    Copies and pickles have a state of their own; expressions are not copied, but composed anew of the copy's operators.

    Points of soft bodies are where they are, held there; the operators of the present velocities are refused while they
    move. Springs and damping of joints are left out: they are forces like any others.

    Args:
        source: a skeleton, a group, or a list of its bodies that hang together. Bodies above the list move as they do
            at the state, without acceleration of coordinates; for those below it see `outboard`.
        positions: the skeleton's positions; None for those it has.
        velocities: its velocities; None for those it has.
        nodes: nodes or bodies that B is of.
        prescribed: coordinates (as `Skeleton.set_positions` takes them) whose accelerations are given. H, D, G, K and
            psi are then of the other, free coordinates, `H_given` is of these; of a group, its bodies' coordinates
            that it does not have are prescribed too.
        outboard: bodies below the list are not there ("cut"), or are parts of those that carry them ("frozen"); None
            for what a `Subgraph` says, and "cut" for others.

    Raises:
        OperatorError: bodies of several skeletons, or with gaps between them.
        StateError: a state of the wrong size, or not finite.

    Example:
        >>> ops = SpatialOperators(robot)
        >>> H, Phi, M, PhiStar, HStar = ops["H", "Phi", "M", "PhiStar", "HStar"]
        >>> T = H*Phi*M*PhiStar*HStar*thetaddot

    Where joints have rotor inertia, J_a is their diagonal: the mass matrix is H phi M phi* H* + J_a, D = H P H* + J_a.

    Source: Rodriguez, Jain, Kreutz-Delgado (1991); Jain (2013), sections II and IV.
    """

    _NAMES = (
        *("H", "Phi", "E_phi", "PhiTilde", "M", "D", "J_a", "G", "K", "P", "tau", "Psi", "E_psi", "PsiTilde", "R"),
        *("Upsilon", "Omega", "B", "I", "H_given"),
    )

    def __init__(
        self,
        source: Any,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        *,
        nodes: Any = (),
        prescribed: Dofs = (),
        outboard: str | None = None,
    ):
        super().__init__(BodyList(source, prescribed, outboard), positions, velocities, nodes)

    def _known_inverses(self) -> dict[Hashable, Operator]:
        rotors = bool(self.on.container.armature.any())
        if self._inverses is None or self._inverses[0] != rotors:
            self._inverses = rotors, known_inverses(self)
        return self._inverses[1]

    # Operators -------------------------------------------------------------------------------------------

    def __getitem__(self, names: str | tuple[str, ...]) -> Any:
        """One operator by its name, or several: `H, Phi = ops["H", "Phi"]`.

        Raises:
            OperatorError: there is none of that name.
        """
        if isinstance(names, tuple):
            return tuple(self[name] for name in names)
        base = names.removesuffix("Star") if isinstance(names, str) else names
        if base not in self._NAMES or (names != base and not hasattr(type(self), names)):
            raise OperatorError(f"no operator {names!r}; there are {', '.join(self._NAMES)}, and stars such as PhiStar")
        return getattr(self, names)

    def namespace(self) -> dict[str, Operator]:
        """All operators by their names, for a session: `globals().update(ops.namespace())`."""
        names = [name for name in self._NAMES if name != "B" or self.node_map is not None]
        stars = [f"{name}Star" for name in names if name != "I"]
        return {name: self[name] for name in (*names, *stars)}

    @property
    def I(self) -> Operator:  # noqa: E743
        """The identity, of the size of what it is added to."""
        return Identity()

    @cached_property
    def H(self) -> Operator:
        """Hinge forces from wrenches; H* u are the bodies' velocities relative to their parents."""
        return Hinges("H", self.on)

    @cached_property
    def H_given(self) -> Operator:
        """H of the prescribed coordinates; H_given* adds what they do to a."""
        return Hinges("H_given", self.on, True)

    @cached_property
    def Phi(self) -> Propagation:
        """phi = (I - E_phi)^-1: gathers wrenches; phi* scatters motions."""
        return Propagation("Phi", self.on, sweeps.PHI)

    @cached_property
    def Psi(self) -> Propagation:
        """psi = (I - E_psi)^-1: the same through articulated hinges, psi(p, k) = phi(p, k) tau(k)."""
        return Propagation("Psi", self.on, sweeps.PSI)

    @cached_property
    def E_phi(self) -> Operator:
        """Wrenches of children seen from their parents."""
        return Strict("E_phi", self.on)

    @cached_property
    def E_psi(self) -> Operator:
        """E_phi tau."""
        return Strict("E_psi", self.on, self.tau)

    @cached_property
    def PhiTilde(self) -> Operator:
        """phi - I = phi E_phi."""
        return Beyond("PhiTilde", self.Phi)

    @cached_property
    def PsiTilde(self) -> Operator:
        """psi - I = psi E_psi."""
        return Beyond("PsiTilde", self.Psi)

    def _articulated(self, name: str) -> Blockwise:
        space = self.on.body_space
        blocks = lambda: getattr(self.on.articulated, name)  # noqa: E731
        return Blockwise(name, space, space, blocks, name != "tau", _ARTICULATED)

    @cached_property
    def M(self) -> Operator:
        """Spatial inertias."""
        space = self.on.body_space
        return Blockwise("M", space, space, lambda: self.on.container.M, True)

    @cached_property
    def P(self) -> Operator:
        """Articulated inertias: P = M + E_psi P E_psi*."""
        return self._articulated("P")

    @cached_property
    def D(self) -> Operator:
        """Articulated inertias that the hinges see: H P H* + J_a."""
        space = self.on.joint_space
        return Blockwise(
            "D", space, space, lambda: self.on.articulated.D, True, _ARTICULATED, None, lambda: self._D_inverse
        )

    @cached_property
    def J_a(self) -> Operator:
        """Rotor inertias of the joints (`Joint.armature`), a diagonal."""
        on = self.on

        def blocks() -> Array:
            made = on.empty_blocks()
            made[on._body_of_dof, on._dof_in_hinge, on._dof_in_hinge] = on.container.armature
            return made

        return Blockwise("J_a", on.joint_space, on.joint_space, blocks, True)

    @cached_property
    def _D_inverse(self) -> Operator:
        space, symbol = self.on.joint_space, ("D^-1", r"\mathcal{D}^{-1}")
        blocks = lambda: self.on.articulated.D_inverse  # noqa: E731
        return Blockwise("D^-1", space, space, blocks, True, _ARTICULATED, symbol, lambda: self.D)

    @cached_property
    def tau(self) -> Blockwise:
        """I - G H."""
        return self._articulated("tau")

    @cached_property
    def G(self) -> Blockwise:
        """P H* D^-1."""
        on = self.on
        blocks = lambda: on.by_body(on.articulated.G).transpose(0, 2, 1)  # noqa: E731
        return Blockwise("G", on.body_space, on.joint_space, blocks, needs=_ARTICULATED)

    @cached_property
    def K(self) -> Operator:
        """E_phi G: what a parent sees of its children's hinges."""
        return Strict("K", self.on, self.G)

    def _diagonal(self, name: str, product: Operator) -> Blockwise:
        assert isinstance(product, Lyapunov)
        space = self.on.body_space
        inner: Any = product.diagonal_operator
        return Blockwise(name, space, space, inner.own_blocks, True, product.preparations(), SYMBOLS[name])

    @cached_property
    def R(self) -> Operator:
        """Composite inertias, the diagonal blocks of phi M phi*."""
        return self._diagonal("R", self.Phi * self.M * self.Phi.T)

    @cached_property
    def Omega(self) -> Operator:
        """The compliance of all bodies, psi* H* D^-1 H psi = phi* H* (H phi M phi* H* + J_a)^-1 H phi."""
        return self.Psi.T * self.H.T * self.D.inverse() * self.H * self.Psi

    @cached_property
    def Upsilon(self) -> Operator:
        """Its diagonal blocks: how much a body yields to a wrench on it."""
        return self._diagonal("Upsilon", self.Omega)

    @cached_property
    def B(self) -> Operator:
        """Wrenches at `nodes` as wrenches on their bodies; B* phi* H* is their Jacobian.

        Raises:
            OperatorError: no nodes were given.
        """
        return NodeMap(self.of_nodes)

    def pick_off(self, nodes: Any) -> Operator:
        """B of other nodes.

        Args:
            nodes: nodes on the bodies, bodies themselves or their names.

        Raises:
            OperatorError: nodes of other bodies, or none.
        """
        return NodeMap(self.on.nodes(nodes))

    def block_diagonal(self, blocks: ArrayLike, name: str = "X") -> Operator:
        """An operator on spatial vectors with blocks of one's own.

        Args:
            blocks: (bodies, 6, 6), in the order of `bodies`, or (6, 6) for all. Of modes of flexible bodies that is the
                part of their body's motion; arrays of the shape of `Operator.body_blocks` are taken too.
            name: what it is called in formulas.

        Raises:
            OperatorError: another shape, or numbers that are not finite.
        """
        own, size = self.on.empty_blocks(), np.shape(blocks)[-1:]
        if size not in ((6,), (self.on.width,)):
            size = (6,)
        part = own[:, : size[0], : size[0]]
        try:
            part[:] = np.asarray(blocks, np.float64)
        except (TypeError, ValueError):
            shape = (len(own), *size, *size)
            raise OperatorError(f"block_diagonal: expected an array {shape}, got {np.shape(blocks)}") from None
        if not np.isfinite(own).all():
            raise OperatorError(f"block_diagonal {name!r}: expected finite numbers")
        space, symmetric = self.on.body_space, np.array_equal(own, own.transpose(0, 2, 1))
        return Blockwise(name, space, space, lambda: own, bool(symmetric), symbol=(name, name))

    def matrix(
        self,
        numbers: ArrayLike,
        rows: str | Operator | None = None,
        columns: str | Operator | None = None,
        name: str = "A",
    ) -> Operator:
        """A matrix of one's own among operators: rows of constraints W, a map X from independent coordinates.

        Args:
            numbers: the matrix.
            rows: what it gives: "bodies" (spatial vectors), "joints", "nodes", an operator that takes it, or None for
                numbers of its own.
            columns: what it takes: likewise, or an operator that gives it.
            name: what it is called in formulas.

        Raises:
            OperatorError: no finite matrix, or one of another size.

        Example:
            >>> W = ops.matrix(rows_of_constraints, columns=B.T, name="W")
            >>> S = W * B.T * Omega * B * W.T
        """
        try:
            own = as_numbers(numbers)
        except (TypeError, ValueError):
            raise OperatorError(f"matrix {name!r}: expected numbers, got {numbers!r}") from None
        if own.ndim != 2 or not np.isfinite(own).all():
            raise OperatorError(f"matrix {name!r}: expected a matrix of finite numbers, got an array {own.shape}")
        spaces: list[Space] = []
        for what, size, given in (("rows", own.shape[0], rows), ("columns", own.shape[1], columns)):
            if isinstance(given, Operator):
                space = given.columns if what == "rows" else given.rows
            else:
                space = self._space(given, size)
            if space is None or space.on is not self.on or space.size != size:
                raise OperatorError(f"matrix {name!r}: it has {size} {what}, and {what} {given!r} are {space!r}")
            spaces.append(space)
        return Matrix(name, own, self.on, spaces[0], spaces[1])

    def _space(self, name: str | None, size: int) -> Space:
        match name:
            case None:
                return Space(self.on, OWN_SPACE, range(size + 1))
            case "bodies":
                return self.on.body_space
            case "joints":
                return self.on.joint_space
            case "nodes":
                return self.of_nodes.space
        raise OperatorError(f"no numbers {name!r}; there are 'bodies', 'joints', 'nodes', an operator, or None")

    def carried(self, dof: DegreeOfFreedom | str | int) -> Operator:
        """The operator X that carries wrenches along a coordinate: at its body [[w~, v~], [0, w~]], elsewhere zero.

        With [w; v] = H* of the coordinate, derivatives by it are made of X, where nodes below it and their axes are
        carried along, and tr is of the block of its body:

            d(H phi M phi* H*) = S + S*,    S = H phi~ X phi M phi* H*
            d log det (H phi M phi* H* + J_a) = 2 tr(X P Upsilon)
            d(B* phi* H*) = B* phi* X* phi~* H*
            d(B* Omega B) = S + S*,         S = B* (psi - P Omega)* X* E_phi* Omega B

        Raises:
            OperatorError: the coordinate is not that of a revolute, prismatic or screw joint of these bodies.
            NameLookupError: there is no such coordinate.

        Source: the derivative of log det is that of Jain et al. (2013), "Fixman compensating potential"; the others
        are our own.
        """
        found = self.on.skeleton.parts.dofs[int(indices_of(self.on.skeleton, dof)[0])]
        place = self.on.place(found)
        if found.joint.kind not in _SINGLE_AXIS or found not in self.dofs:
            raise OperatorError(
                f"carried({found.name!r}): it is of a {type(found.joint).__name__}; expected a free coordinate of a "
                "joint with one fixed axis"
            )
        on, space = self.on, self.on.body_space

        def blocks() -> Array:
            h = on.container.H[on.joint_space.first[place]]
            w, v = (np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]]) for x in (h[:3], h[3:]))
            result = on.empty_blocks()
            result[place, :6, :6] = np.block([[w, v], [np.zeros((3, 3)), w]])
            return result

        return Blockwise("X", space, space, blocks, symbol=("X", "X"))

    HStar = _star("H")
    H_givenStar = _star("H_given")
    PhiStar = _star("Phi")
    E_phiStar = _star("E_phi")
    PhiTildeStar = _star("PhiTilde")
    MStar = _star("M")
    DStar = _star("D")
    J_aStar = _star("J_a")
    GStar = _star("G")
    KStar = _star("K")
    PStar = _star("P")
    tauStar = _star("tau")
    PsiStar = _star("Psi")
    E_psiStar = _star("E_psi")
    PsiTildeStar = _star("PsiTilde")
    RStar = _star("R")
    UpsilonStar = _star("Upsilon")
    OmegaStar = _star("Omega")
    BStar = _star("B")

    @property
    def log_det(self) -> float:
        """The logarithm of the determinant of the mass matrix: the sum of those of D(k)."""
        on = self.on
        D = on.articulated.D
        return float(sum(np.linalg.slogdet(D[k, :m, :m])[1] for k, m in enumerate(on.hinge_sizes.tolist()) if m))

    def __repr__(self) -> str:
        return f"SpatialOperators of {self.on.describes}: {len(self.on.bodies)} bodies, {len(self.dofs)} coordinates"
