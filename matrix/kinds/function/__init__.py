"""Kinds that are one file: a function or a class with ``@matrix.scenario`` over it.

The decorator is light, so that ``import matrix`` stays so; what reads and plays such files is in
:mod:`matrix.kinds.function.files`, which the engine finds by the entry point ``matrix.kind_files``.
"""
