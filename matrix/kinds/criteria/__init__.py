"""Criteria tests: every agent of a chain with every fixed input, judged by lists of criteria.

A session is one input. A turn is one agent: what it makes of the input and of the outputs of the
agents before it, and what a judge finds about each of its criteria.
"""
