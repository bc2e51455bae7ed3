"""Beam's options, of which every view is made once."""

from typing import Any, TypeVar, cast

from apache_beam.options.pipeline_options import PipelineOptions

View = TypeVar("View", bound=PipelineOptions)


class JobOptions(PipelineOptions):
    """Beam's options, of which every view is made once.

    Beam asks for a view some hundred times while it builds a job and makes a parser of arguments
    for each, which took a quarter of what a job takes to start. Views of one class are alike: all
    share the values.
    """

    def view_as(self, cls: type[View]) -> View:
        """Return the options as those of a class; see Beam's own."""
        views = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        return cast("View", views[cls])

    def __getstate__(self) -> dict[str, Any]:
        """Return what to pickle: views are made again."""
        state = dict(super().__getstate__())
        state.pop("_views", None)
        return state
