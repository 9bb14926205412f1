"""What a launch costs: bytes, operations, the roofline, waves of the grid and an estimated time on a chosen GPU."""
