"""Options of Beam that make each of their views once."""

from typing import Any, TypeVar, cast

from apache_beam.options.pipeline_options import PipelineOptions

View = TypeVar("View", bound=PipelineOptions)


class JobOptions(PipelineOptions):
    """Options of Beam that make each of their views once.

    Beam asks for a view some hundred times while it builds a job, and makes a parser of arguments
    for each, which took a quarter of the time in which a job starts. Views of one class are equal,
    as all share the values.
    """

    def view_as(self, cls: type[View]) -> View:
        """Return the options as a view of a class; see Beam's own method."""
        views = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        return cast("View", views[cls])

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the views, which are made again."""
        state = dict(super().__getstate__())
        state.pop("_views", None)
        return state
