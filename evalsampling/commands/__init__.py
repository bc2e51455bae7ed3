"""What each command does: options, a plain function, a result."""
