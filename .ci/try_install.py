"""Install hpc-harvest[all] with README's commands into fresh environments, and harvest with it.

    python .ci/try_install.py dist               from a folder of built distributions, through an
                                                 index on loopback that forwards other names
    python .ci/try_install.py dist --published   the same version from the index in
                                                 HARVEST_PUBLISH_URL, with the job's token

Once with pip and once with uv, or with what HARVEST_TRY_WITH names.  Everything of ours must come
in the version of that folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from index import index, public
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
OURS = "hpc-harvest"

INSTALLED = """
import re
import sys
from importlib.metadata import distribution, distributions

ours = {d.name: d.version for d in distributions() if d.name.startswith("hpc-harvest")}
wanted = {re.match(r"[\\w.-]+", r)[0] for r in distribution("hpc-harvest").requires
          if r.startswith("hpc-harvest-")}
assert wanted and wanted <= set(ours), f"not installed: {wanted - set(ours)}"
assert set(ours.values()) == {sys.argv[1]}, f"not all of version {sys.argv[1]}: {ours}"
"""
"""Everything of ours is there, in that version."""


def main(folder: Path, *, published: bool) -> None:
    """Install from an index, both ways."""
    (core,) = folder.glob("hpc_harvest-*.whl")
    version = str(parse_wheel_filename(core.name)[1])
    with tempfile.TemporaryDirectory(prefix="harvest-try-") as name:
        home = Path(name)
        if published:
            write_netrc(home)
            install(home, f"{os.environ['HARVEST_PUBLISH_URL'].rstrip('/')}/simple", version)
        else:
            with index(folder, forward=public()) as address:
                install(home, f"{address}/simple", version)


def write_netrc(home: Path) -> None:
    """Keep the token where README says: nothing lists it there."""
    host = urlsplit(os.environ["HARVEST_PUBLISH_URL"]).hostname
    user = os.environ.get("HARVEST_PUBLISH_USER") or "gitlab-ci-token"
    password = os.environ.get("HARVEST_PUBLISH_PASSWORD") or os.environ["CI_JOB_TOKEN"]
    netrc = home / ".netrc"
    netrc.touch(mode=0o600)
    netrc.write_text(f"machine {host} login {user} password {password}\n")


def install(home: Path, address: str, version: str) -> None:
    """Install from an index with each tool, and harvest with what each installed."""
    look, with_pip, with_uv = commands()
    look = look.splitlines()[-1]  # the address before it is GitLab's
    ways = {"pip": with_pip, "uv": with_uv}
    shutil.copytree(ROOT / "examples" / "dask-run", home / "run")
    for tool in os.environ.get("HARVEST_TRY_WITH", "pip uv").split():
        environment = home / tool
        said(sys.executable, "-m", "venv", environment)
        variables = os.environ | {
            "HARVEST_INDEX_URL": address,
            "HOME": str(home),
            "PATH": f"{environment / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(environment),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
        }
        for block in (look, ways[tool]):
            said("bash", "-euo", "pipefail", "-c", block, env=variables)
        said(environment / "bin" / "python", "-c", INSTALLED, version)
        rows = harvest(environment / "bin" / "harvest", home / tool)
        print(f"{OURS}[all] {version} installed by {tool} and harvested: {rows} rows", flush=True)


def commands() -> list[str]:
    """README's commands that install: to look what is there, with pip, with uv."""
    section = (ROOT / "README.md").read_text("utf-8").partition("\n## Install\n")[2]
    return re.findall(r"^```sh\n(.*?)^```", section.partition("\n## ")[0], re.DOTALL | re.MULTILINE)


def harvest(program: Path, folder: Path) -> int:
    """Harvest the example away from the checkout, so that only what was installed can answer."""
    source, out = f"mofka-dask:{folder.parent / 'run'}", folder / "out"
    said(program, "run", "-s", source, "-k", f"parquet:{out}", "-k", f"jsonl:{out}.jsonl")
    said(program, "verify", out)
    asked = 'select count(*) as rows from "dask.transfer"'
    rows = int(json.loads(said(program, "query", out, asked, "--json"))["rows"])
    if not rows:
        sys.exit("try_install: no transfers were harvested")
    return rows


def said(*words: str | Path, env: dict[str, str] | None = None) -> str:
    """Run a command and give its output; ends the program with that output when it fails."""
    done = subprocess.run(
        words, env=env, text=True, check=False, cwd=tempfile.gettempdir(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        shown = " ".join(map(str, words))
        sys.exit(f"try_install: {shown}\nended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--published"]):
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), published=sys.argv[2:] == ["--published"])
