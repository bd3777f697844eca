"""A real small language model on this machine's CPU: no key, no network, no price.

``weights`` and ``settings`` are plain data and cheap to import; ``provider`` is imported only in
the process that runs models, and llama.cpp itself (a hundred megabytes) only on the first call.
Text is fluent and simple; labels and verdicts of so small a model say nothing. It is there for
trying everything with real generated text, not for judging.
"""
