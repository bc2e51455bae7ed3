"""One part of every kind that another package can add to evalsampling, each in a file of its own.

`pip install examples/outside_package`, and specs may name them.
"""
