"""`python -m orchestra_lib` is the command `orchestra`."""

from orchestra_lib.cli import main

main()
