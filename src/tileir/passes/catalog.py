"""The list of all passes: name, summary, function, scope, options.

To add one, write `passes/NAME.py` with a function, and call `register_pass` here.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.quoting import close_names, type_text
from tileir.ir.versions import version_named
from tileir.passes import canonicalize, cse, debug_info, downlevel, legalize, licm, loop_split, registry
from tileir.passes.registry import ANY, FUNCTION, MODULE, Options, Pass, PassFunction, PipelineError
from tileir.rewrite.cleanup import remove_dead
from tileir.rewrite.simplifier import simplify_expressions

# Installed packages declare their passes in this group of entry points.
ENTRY_POINTS: Final = "tileir.passes"

# Passes by name; those of this file come first, in its order.
REGISTERED: Final[dict[str, Pass]] = {}


def registered_passes() -> list[Pass]:
    """All passes, in the order of registration."""
    return list(REGISTERED.values())


def register_pass(
    name: str, summary: str, run: PassFunction, *, scope: str = ANY, options: Options | None = None
) -> Pass:
    """Register a pass for `run_passes`, pipelines and `tileir opt --passes`; its name must be new.

    The arguments are those of `Pass`.
    """
    return _added(Pass(name, summary, run, scope=scope, options=options))


def _added(new: Pass) -> Pass:
    if new.name in REGISTERED:
        raise PipelineError(f"pass '{new.name}' is registered twice")
    REGISTERED[new.name] = new
    return new


def pass_named(name: str) -> Pass:
    """Return a pass by name, also one of an installed package; `PipelineError` if there is none."""
    found = REGISTERED.get(name)
    if found is None:
        found = _installed(name)
    if found is None:
        close = close_names(name, REGISTERED)
        hint = f"did you mean '{close[0]}'?" if close else ""
        raise PipelineError(f"'{name}' does not refer to a registered pass", hint)
    return found


def _installed(name: str) -> Pass | None:
    """Return the pass of this name that an installed package declares, if any."""
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=name):
        failure = f"the pass '{name}' of {point.value} cannot be loaded:"
        try:
            found = point.load()
        except (Exception, SystemExit) as error:
            # SystemExit: a module that exits when it is imported must not end this process.
            raise PipelineError(f"{failure} {type(error).__name__}: {error}") from error
        if not isinstance(found, Pass):
            raise PipelineError(f"{failure} it is {type_text(found)} there, and not a tileir.passes.Pass")
        if found.name != name:
            raise PipelineError(f"{failure} it is named '{found.name}' there")
        return _added(found)
    return None


register_pass(
    "canonicalize",
    "apply folds and patterns until none applies",
    lambda root, options, session: canonicalize.run(root, session),
)
register_pass(
    "simplify",
    "simplify integer expressions, once (the folds draft)",
    lambda root, options, session: simplify_expressions(
        root, session.statistics, session.trace, keep_locations=session.keep_locations
    ),
)
register_pass(
    "cse", "eliminate common subexpressions", lambda root, options, session: cse.run(root, session.keep_locations)
)
register_pass("dce", "remove dead code", lambda root, options, session: remove_dead(root))
register_pass(
    "loop-invariant-code-motion",
    "move loop-invariant operations out of loops",
    lambda root, options, session: licm.run(root),
)
register_pass(
    "fuse-fma",
    "fuse multiplications with additions and subtractions; changes rounding",
    lambda root, options, session: canonicalize.fuse_fma(root, session),
    scope=FUNCTION,
)
register_pass(
    "loop-split",
    "split loops where a condition on the induction variable changes",
    lambda root, options, session: loop_split.run(
        root, registry.integer_option(options, "split-threshold"), not session.drop_in, session.keep_locations
    ),
    scope=FUNCTION,
    options={"split-threshold": "1"},
)
register_pass(
    "synthesize-debug-info-scopes",
    "create debug scopes from file positions",
    lambda root, options, session: debug_info.synthesize_scopes(root),
    scope=MODULE,
)
register_pass(
    "strip-debuginfo", "remove all locations", lambda root, options, session: debug_info.strip_locations(root)
)
register_pass(
    "legalize",
    "replace what only the drafts define with what NVIDIA's tools accept",
    lambda root, options, session: legalize.run(root, session.diagnostics),
)
register_pass(
    "downlevel",
    "rewrite the program for an older version",
    lambda root, options, session: downlevel.run(root, version_named(options["version"]), session.diagnostics),
    options={"version": "13.1"},
)
register_pass("inline", "inline calls (the dialect has none)", lambda root, options, session: 0)
register_pass(
    "test-debuginfo-update-symbol-name",
    "rename a symbol and its debug information (for the public test suite)",
    lambda root, options, session: debug_info.rename_by_path(
        root,
        options["symbol-to-rename"],
        options["new-name"],
        options["scope"],
        registry.bool_option(options, "update-uses"),
    ),
    options={"symbol-to-rename": "", "scope": "", "new-name": "", "update-uses": "false"},
)
