"""Values of Thrift's compact protocol, in which Parquet tells of itself."""

from typing import Any

Struct = dict[int, Any]
"""Values by the numbers of their fields."""

_DEEPEST = 16


def field(struct: Any, number: int, kind: type) -> Any:
    """Return a field of a struct.

    Raises:
        ValueError: if it is not there, or of another type.
    """
    value = struct.get(number) if isinstance(struct, dict) else None
    if not isinstance(value, kind):
        raise ValueError("its footer or the header of a page is damaged")
    return value


class Thrift:
    """Reads values of Thrift's compact protocol.

    Attributes:
        place: of the next byte.
    """

    def __init__(self, content: bytes, place: int) -> None:
        self._content = content
        self.place = place

    def _byte(self) -> int:
        if self.place >= len(self._content):
            raise ValueError("is cut short")
        self.place += 1
        return self._content[self.place - 1]

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("has a number of too many bytes")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def _bytes(self, length: int) -> bytes:
        if length > len(self._content) - self.place:
            raise ValueError("is cut short")
        self.place += length
        return self._content[self.place - length : self.place]

    def struct(self, depth: int = 0) -> Struct:
        """Read a struct: its values by the numbers of their fields."""
        if depth > _DEEPEST:
            raise ValueError("is nested too deeply")
        fields: Struct = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[field] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 1 | 2 | 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._unsigned())
            case 9 | 10:
                head = self._byte()
                count = head >> 4 if head >> 4 < 15 else self._unsigned()
                return [self._value(head & 15, depth + 1) for _ in self._counted(count)]
            case 11:
                count = self._unsigned()
                kinds = self._byte() if count else 0
                for _ in self._counted(count):
                    self._value(kinds >> 4, depth + 1)
                    self._value(kinds & 15, depth + 1)
                return None
            case 12:
                return self.struct(depth + 1)
        raise ValueError(f"has a value of unknown type {kind}")

    def _counted(self, count: int) -> range:
        if count > len(self._content) - self.place:
            raise ValueError("is cut short")
        return range(count)
