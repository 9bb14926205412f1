"""What stays up and answers questions: the explorer's page, the language server, the debugger."""
