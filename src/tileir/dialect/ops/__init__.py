"""One declaration per operation, one file per chapter of the operations draft; importing this package registers them all."""

from tileir.dialect.ops import (  # noqa: F401
    aggregates,
    atomics,
    bitwise,
    builtin,
    control_flow,
    conversions,
    core,
    floating_point,
    floating_point_functions,
    integer,
    matrix,
    memory,
    miscellaneous,
    structure,
    views,
)
