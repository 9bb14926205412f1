"""What compiled code checks, and how its findings become reports."""
