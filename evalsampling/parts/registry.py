"""Parts of one kind by name: our own, and those that installed packages register.

A package that has, in its ``pyproject.toml``,

    [project.entry-points."evalsampling.samplers"]
    halving = "their_package.halving:Halving"

adds a sampler that specs may name. The groups are ``evalsampling.`` and one of `KINDS`.
"""

import functools
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from evalsampling.errors import InputError
from evalsampling.parts.references import imported, load_object

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Part = TypeVar("Part")

KINDS = ("samplers", "measures", "sinks", "label_spaces", "tables")
"""Kinds of parts that other packages may add."""


class Registry(Mapping[str, Part]):
    """Parts of one kind by name: our own, and those of installed packages.

    A part is imported when it is looked up, and entry points are read only for a name that is not
    our own, or when all names are asked for. Where a part of ours has the name too, ours is meant.

    Attributes:
        kind: one of `KINDS`.
        own: ``module:object`` of each part of ours, by name.
        interface: ``module:class`` of what each part is: a class below it, or where it is a
            protocol an object that has its members.
    """

    def __init__(self, kind: str, own: Mapping[str, str], interface: str) -> None:
        """Name our own parts."""
        self.kind, self.own, self.interface = kind, own, interface

    @functools.cached_property
    def _others(self) -> "Mapping[str, Sequence[EntryPoint]]":
        """The entry points of each name that is not our own."""
        from importlib.metadata import entry_points  # It takes long to load.

        points: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=f"evalsampling.{self.kind}"):
            if point.name not in self.own:
                points.setdefault(point.name, []).append(point)
        return points

    def __getitem__(self, name: str) -> Part:
        """Return the part of a name.

        Raises:
            KeyError: if there is none.
            InputError: if two packages have it, it cannot be imported, or is no part of this kind.
        """
        if name in self.own:
            own: Part = pkgutil.resolve_name(self.own[name])
            return own
        points = self._others[name]
        if len(points) > 1:
            packages = " and ".join(sorted(_package_of(point) for point in points))
            raise InputError(
                f"{self.kind}: {name}: {packages} both register it; uninstall one of them"
            )
        [point] = points
        what = f"{self.kind}: {name}: {point.value} of {_package_of(point)}"
        part: Part = imported(what, point.load, pkgutil.resolve_name(self.interface))
        return part

    def find(self, key: str, name: str, directory: str | None = None) -> Part:
        """Return the part that a spec names: by its name, or as ``module:object``.

        Args:
            key: of the spec, for messages.
            name: that stands there.
            directory: looked in first for a module.

        Raises:
            InputError: if there is none, as in a workspace whose package is not installed here; or
                as a look-up by name says.
        """
        if ":" in name:
            found: Part = load_object(key, name, directory, pkgutil.resolve_name(self.interface))
            return found
        if name not in self:
            raise InputError(
                f"{key}: {name} is of a package that is not installed here; there are "
                f"{', '.join(self)}"
            )
        return self[name]

    def references(self, part: type) -> list[str]:
        """Return what a spec may call a class: the names it has, else ``module:class``."""
        reference = f"{part.__module__}:{part.__qualname__}"
        own = [name for name, path in self.own.items() if path == reference]
        others = (
            name
            for name, points in self._others.items()
            if [point.value for point in points] == [reference]
        )
        return own or list(others) or [reference]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a part of a name; it is not imported."""
        return name in self.own or name in self._others

    def __iter__(self) -> Iterator[str]:
        """Yield all names, our own first."""
        return iter([*self.own, *sorted(self._others)])

    def __len__(self) -> int:
        return len(self.own) + len(self._others)


def _package_of(point: "EntryPoint") -> str:
    """Return the name of the package that registers an entry point."""
    return point.dist.name if point.dist is not None else "an installed package"
