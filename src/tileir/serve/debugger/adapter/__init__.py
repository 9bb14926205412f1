"""The debug adapter protocol: the debugger of an editor, over standard input and output or TCP.

Begin with `requests` (the table of requests, their arguments, the threads that answer) and `adapter` (`Adapter`: a
session, its events).  `messages` has the channel, `state` what requests share, `launch_thread` the thread that runs
the launch; the requests are in `lifecycle`, `execution`, `inspection` (with `variable_nodes`), `breakpoint_requests`
and `console`.  `connections` has standard streams and TCP, `editor` what an editor launches and attaches to.
"""
