"""What a label is: a class, a set of labels, a number, a grade; one module for each."""
