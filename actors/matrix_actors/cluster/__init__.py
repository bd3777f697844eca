"""The cluster that a run is played on: joined or started, its nodes, and what of them is used."""
