"""The five actors. Each holds one plain class of ``matrix.engine`` and passes calls on.

Every actor is asynchronous and has one event loop. (Ray runs each concurrency group on a loop and
thread of its own, and these classes belong to one loop; so there is one group.) Only ``poll`` and
``serve`` park, once per peer, far below the actor's concurrency; nothing else ever waits. No actor
restarts by itself and no call is retried by Ray: what a lost process means is the engine's affair.

Each has a module of its own, as its process loads what stands there, and a run waits for that.
"""
