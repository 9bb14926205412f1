"""Tools for agents by the Model Context Protocol: `tileir mcp`.

commands.py   the tools: what each takes, and the command line that answers it
answers.py    the output of a command as a short answer: pages, and the next useful step
search.py     search in the documentation
workers.py    a warm process that carries out command lines in confined children
server.py     the server, by the official SDK, over standard streams or HTTP with a token

Read commands.py first.  A tool is a command of `tileir` whose input is text, so an agent and a person get the same
findings.
"""
