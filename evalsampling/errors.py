"""The one error users are meant to read."""


class InputError(ValueError):
    """Bad input, told in one line: what is wrong, and where (file, column, row).

    Everything a user can mend raises this class: a wrong spec, pool, label file or
    workspace. The command line prints its message and exits with 1; anything else that
    is raised is a defect of this package.
    """


class UsageError(InputError):
    """A command was given options it does not know; the command line exits with 2."""
