# SPDX-License-Identifier: Apache-2.0
"""A source tree in a temporary folder, and a command run over it."""
import contextlib
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@contextlib.contextmanager
def tree(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        yield folder


def run_check(tool, files):
    """Exit status and the lines printed by a tool of ours over a tree of these files."""
    with tree(files) as folder:
        done = subprocess.run([sys.executable, str(ROOT / "tools" / tool), folder], capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()
