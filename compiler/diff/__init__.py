"""What a change does, in deployment terms: two trees go in, one change a service comes out.

Read `sides` first (what can be compared), then `snapshot` (what is compared of a service), `pairing` (with which
other one), then `comparing`.
"""
