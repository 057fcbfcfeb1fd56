"""The figures that the product promises (spec §15): `make bench` measures them and prints one table.

Machines differ and are shared, so every figure is a ratio to something measured in the same run wherever that is
possible, and a median or a percentile of many repeats.
"""
