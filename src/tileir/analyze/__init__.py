"""What reads programs and says something about them; nothing here stays running or has a command line."""
