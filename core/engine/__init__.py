"""Durable runs: lanes, leases, send-once, stop, sweeps. The only importer of DBOS.

A run is one workflow whose id is the run's id. What happens inside it is cut into named steps; a finished step's
result is kept in the engine's database and a run that was cut off goes on behind its last finished step, in this
process or in another one.
"""
