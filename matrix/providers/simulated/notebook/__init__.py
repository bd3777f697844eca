"""A simulated agent that keeps a notebook of files, by the instructions it finds in the folder.

It reads what a real one reads (the request, the instructions, the notebook), and writes real files
through the tools it is given. What the instructions do not say it does not do: an instruction that
is missing is a mistake that it makes.
"""

from matrix.providers.simulated.notebook.steps import keeps_a_notebook, next_step

__all__ = ["keeps_a_notebook", "next_step"]
