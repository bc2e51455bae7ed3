from .workspace import Workspace as Workspace
