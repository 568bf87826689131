"""The command `apichat`: runs the one in this version's resource plugin, with the plugin's own Node.

It is not in the package `pulumi_apichat`, because that imports Pulumi, which takes half a second.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec


def main() -> None:
    with open(os.path.join(_package_folder(), "pulumi-plugin.json"), encoding="utf-8") as file:
        plugin = json.load(file)
    home = os.environ.get("PULUMI_HOME") or os.path.join(os.path.expanduser("~"), ".pulumi")
    folder = os.path.join(home, "plugins", f"resource-apichat-v{plugin['version']}")
    node = os.path.join(folder, "node.exe" if os.name == "nt" else "node")
    script = os.path.join(folder, "cli", "apichat.js")
    if not (os.path.exists(node) and os.path.exists(script)):
        source = f" --server {plugin['server']}" if "server" in plugin else " --file <its archive>"
        install = f"pulumi plugin install resource apichat {plugin['version']}{source}"
        sys.exit(f"apichat: the resource plugin is not in {folder}. Install it with: {install}")
    if "init" in sys.argv:
        os.environ["APICHAT_WHEEL_URL"] = _wheel_url()
    command = [node, script, *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(node, command)


def _wheel_url() -> str:
    """The file or address that pip installed this package from (PEP 610); empty if it was an index."""
    from importlib.metadata import distribution

    url = json.loads(distribution("pulumi-apichat").read_text("direct_url.json") or "{}")
    return url.get("url", "") if "archive_info" in url else ""


def _package_folder() -> str:
    """Finds the folder of `pulumi_apichat` without importing it."""
    spec = find_spec("pulumi_apichat")
    if spec is None or spec.origin is None:
        sys.exit("apichat: the package pulumi-apichat is incomplete. Reinstall it")
    return os.path.dirname(spec.origin)
