"""Real models, through litellm: the one place that imports it.

``settings`` is plain data and cheap to import; ``provider`` is imported only in the process that
calls models, and litellm itself (seconds, hundreds of megabytes) only when one is built.
"""
