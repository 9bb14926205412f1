"""Analyses of programs; nothing here keeps running or has a command line."""
