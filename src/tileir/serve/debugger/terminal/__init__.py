"""The debugger of a person at a terminal, with gdb's commands.

command_table  commands by name, abbreviation and prefix
shell          `Shell`: carries out commands; the console of an editor has one too
running, looking, settings
               the commands
catalogue      all of them
stops          where the launch has stopped, told
completing, console
               a line that is typed
terminal       `Terminal`: the prompt
"""
