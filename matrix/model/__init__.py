"""Vocabulary of the whole project: run spec, plan, records, money, seeds, errors. Pure."""
