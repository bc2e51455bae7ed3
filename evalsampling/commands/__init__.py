"""The commands: options, a plain function and a result of each."""
