"""The files of one evaluation."""

from evalsampling.workspace.snapshot import load as load
from evalsampling.workspace.workspace import Workspace as Workspace
