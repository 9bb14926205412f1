"""Matrix products in registers: plans and microkernels."""
