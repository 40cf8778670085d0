"""Run the ``mercer`` command by ``python -m mercer.cli``."""

from mercer.cli import main

raise SystemExit(main())
