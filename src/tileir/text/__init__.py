"""The text form: lexer, parser, printer, all driven by the declarations."""
