"""The debug adapter protocol: the debugger of an editor, over standard input and output or TCP.

Each module is built on those above it:

    wire          messages on a pair of streams; what is no message is passed over
    asked         the arguments of a request, each looked at when it is taken
    dispatch      one response to each request, in order; some at once
    runner        the thread that has the launch runs it as the others ask
    contents      what has variables in it: scopes, tiles row by row
    conversation  what one conversation knows
    life, going, looking
                  the requests
    adapter       `Adapter`: the table of requests, and events
    hosting       what an editor launches
    streams, tcp  where the wire comes from
"""
