"""Measurements: run by hand, never imported by the compiler."""
