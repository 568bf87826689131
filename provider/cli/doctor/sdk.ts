import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readFileIfExists } from "../../lib/files.js";
import { isOlder, MIN_PULUMI } from "../../lib/version.js";
import { execute, failed, type Facts, type Finding, ok, type Project, warning } from "./check.js";
import { findVersion } from "./packages.js";

const INSTALL = "pulumi install";
const installHint = ({ root }: Project): string => `run in ${root}: ${INSTALL}`;

/** Checks the virtual environment that Pulumi.yaml of a program in Python names. */
export function checkVirtualEnvironment(project: Project, { environment }: Facts): Finding {
  const folder = findVirtualEnvironment(project);
  if (folder === undefined) return ok("none in Pulumi.yaml: python3 of PATH runs the program");
  if (existsSync(pythonIn(folder))) return ok(folder);
  const active = environment["VIRTUAL_ENV"];
  return active
    ? warning(`there is no ${folder}; only an old host uses the active one, ${active}`, installHint(project))
    : failed(`there is no ${folder}, which Pulumi.yaml names`, installHint(project));
}

function findVirtualEnvironment({ root, options }: Project): string | undefined {
  const named = options["virtualenv"];
  return typeof named === "string" ? resolve(root, named) : undefined;
}

const pythonIn = (folder: string): string =>
  process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");

/** The check of the SDK that a program imports, by runtime. YAML needs none. */
const SDKS: Record<string, (project: Project, facts: Facts) => Finding | Promise<Finding>> = {
  nodejs: checkNode,
  python: checkPython,
  go: checkGo,
  java: (project) => checkGenerated("sdks/apichat/src/main/java", project),
};

export const hasSdk = ({ runtime, isOnPlugin }: Project): boolean => isOnPlugin && runtime in SDKS;

export const checkSdk = (project: Project, facts: Facts): Finding | Promise<Finding> =>
  SDKS[project.runtime]?.(project, facts) ?? ok("not checked");

function checkNode(project: Project): Finding {
  const name = "pulumi-apichat-sdk";
  const version = findVersion(project.folder, name);
  return version === undefined
    ? failed(`${name} is not installed`, installHint(project))
    : ok(`${name} ${version}`);
}

function checkGenerated(path: string, project: Project, root = project.root): Finding {
  const folder = resolve(root, path);
  return existsSync(folder) ? ok(folder) : failed(`there is no ${folder}`, installHint(project));
}

/** The replacement that `pulumi install` writes into go.mod. */
const REPLACEMENT = /pulumi-apichat\/sdk\/go\S*(?:\s+v\S+)?\s+=>\s+(\S+)/;

function checkGo(project: Project): Finding {
  const text = readFileIfExists(join(project.folder, "go.mod"));
  if (text === undefined) return failed(`there is no go.mod in ${project.folder}`, "run go mod init");
  const [, path] = REPLACEMENT.exec(text) ?? [];
  if (path === undefined) return failed("go.mod has no replace line for the SDK", installHint(project));
  return checkGenerated(path, project, project.folder);
}

/** Prints the versions of both packages, one on each line; an empty one if a package is not installed. */
const SCRIPT = `
from importlib import metadata
for name in ("pulumi", "pulumi_apichat"):
    try: print(metadata.version(name))
    except metadata.PackageNotFoundError: print()
`;

async function checkPython(project: Project, facts: Facts): Promise<Finding> {
  const folders = [findVirtualEnvironment(project), facts.environment["VIRTUAL_ENV"]].filter(Boolean);
  const python = folders.map((folder = "") => pythonIn(folder)).find((path) => existsSync(path)) ?? "python3";
  const found = await execute(python, ["-c", SCRIPT], facts);
  if ("code" in found)
    return failed(`${python} cannot be run (${found.code})`, "install Python 3.10 or newer");
  const [pulumi = "", sdk = ""] = found.stdout.split(/\r?\n/);
  if (sdk === "") return failed(`pulumi_apichat is not installed for ${python}`, installHint(project));
  if (pulumi === "" || isOlder(pulumi, MIN_PULUMI)) {
    return failed(
      `pulumi ${pulumi || "is not installed"} for ${python}; ${MIN_PULUMI} or newer is needed`,
      `pulumi>=${MIN_PULUMI},<4 in requirements.txt, then ${INSTALL}`,
    );
  }
  return ok(`pulumi_apichat ${sdk}, pulumi ${pulumi}`);
}
