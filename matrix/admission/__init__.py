"""Who may call a model, and when: money, rate limits and rounds as pure state machines.

Everything here is synchronous, is handed the time, and acts on nothing: the governor feeds it
and carries out what it decides.
"""
