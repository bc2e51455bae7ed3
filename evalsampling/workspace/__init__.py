"""The files of one evaluation."""

from evalsampling.workspace.workspace import Workspace as Workspace
from evalsampling.workspace.workspace import load as load
