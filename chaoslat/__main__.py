"""`python -m chaoslat`: the command line."""

from chaoslat.cli import main

main()
