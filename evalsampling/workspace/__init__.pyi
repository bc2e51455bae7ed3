from .snapshot import load as load
from .workspace import Workspace as Workspace
