"""Trajectory tests: an agent, a folder that it keeps, and weeks of things that come in.

A session is one run of one scenario: it begins with a scaffold, and every turn brings one input.
After each turn the folder is looked at (structural assertions), at the end judges are asked about
what a folder cannot show by itself (content assertions). Over runs, every assertion has a rate.
"""
