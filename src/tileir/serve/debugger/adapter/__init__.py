"""The debug adapter protocol: the debugger of an editor, over standard input and output or TCP.

Begin with `requests` (the channel, the table of requests, their arguments, the threads that answer) and `session`
(`Session`: what requests share, its events, its console).  `launch_thread` has the thread that runs the launch.
Requests are methods of classes that derive from `Session`, in `inspection` and `execution` (`EditorSession`).
`editor` has standard streams and TCP, and what an editor launches and attaches to.
"""
