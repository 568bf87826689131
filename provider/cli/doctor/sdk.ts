import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { readFileIfExists } from "../../lib/files.js";
import { isOlder, MIN_PULUMI } from "../../lib/version.js";
import { failed, type Finding, ok, type Surroundings, warning } from "./check.js";
import { findVersion } from "./packages.js";
import { type Project, programCheck } from "./project.js";

const run = promisify(execFile);

const INSTALL = "pulumi install";
const installHint = ({ root }: Project): string => `run in ${root}: ${INSTALL}`;

/** The virtual environment that Pulumi.yaml of a program in Python names. */
const isPython = ({ runtime }: Project): boolean => runtime === "python";

export const virtualEnvironmentCheck = programCheck("virtual env", isPython, (project, { environment }) => {
  const named = project.options["virtualenv"];
  if (typeof named !== "string") return ok("none in Pulumi.yaml: python3 of PATH runs the program");
  const folder = resolve(project.root, named);
  if (existsSync(pythonIn(folder))) return ok(folder);
  const active = environment["VIRTUAL_ENV"];
  if (active)
    return warning(
      `there is no ${folder}; the active one, ${active}, is used by an old host only`,
      installHint(project),
    );
  return failed(`there is no ${folder}, which Pulumi.yaml names`, installHint(project));
});

const pythonIn = (folder: string): string =>
  process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");

const SDKS: Record<string, (project: Project, surroundings: Surroundings) => Finding | Promise<Finding>> = {
  nodejs: (project) => judgeNode(project),
  python: (project, surroundings) => judgePython(project, surroundings),
  go: (project) => judgeGo(project),
  java: (project) => judgeGenerated("sdks/apichat/src/main/java", project),
};

/** The SDK that the program imports. YAML needs none. */
export const sdkCheck = programCheck(
  "SDK",
  ({ runtime, isOnPlugin: isUsed }) => isUsed && runtime in SDKS,
  (project, surroundings) => SDKS[project.runtime]?.(project, surroundings) ?? ok("not checked"),
);

function judgeNode(project: Project): Finding {
  const name = "pulumi-apichat-sdk";
  const version = findVersion(project.folder, name);
  return version === undefined
    ? failed(`${name} is not installed`, installHint(project))
    : ok(`${name} ${version}`);
}

const judgeGenerated = (path: string, project: Project): Finding => {
  const folder = resolve(project.root, path);
  return existsSync(folder) ? ok(folder) : failed(`there is no ${folder}`, installHint(project));
};

/** The replacement that `pulumi install` writes into go.mod. */
const REPLACEMENT = /pulumi-apichat\/sdk\/go\S*(?:\s+v\S+)?\s+=>\s+(\S+)/;

function judgeGo(project: Project): Finding {
  const text = readFileIfExists(join(project.folder, "go.mod"));
  if (text === undefined) return failed(`there is no go.mod in ${project.folder}`, "run go mod init");
  const [, path] = REPLACEMENT.exec(text) ?? [];
  if (path === undefined) return failed("go.mod has no replace line for the SDK", installHint(project));
  return judgeGenerated(path, { ...project, root: project.folder });
}

/** Prints the versions of both packages, one on each line; an empty one if a package is not installed. */
const SCRIPT = `
from importlib import metadata
for name in ("pulumi", "pulumi_apichat"):
    try: print(metadata.version(name))
    except metadata.PackageNotFoundError: print()
`;

async function judgePython(
  project: Project,
  { environment, limitMs, signal }: Surroundings,
): Promise<Finding> {
  const named = project.options["virtualenv"];
  const active = environment["VIRTUAL_ENV"];
  const folders = [
    ...(typeof named === "string" ? [resolve(project.root, named)] : []),
    ...(active ? [active] : []),
  ];
  const python = folders.map(pythonIn).find((path) => existsSync(path)) ?? "python3";
  let versions: string[];
  try {
    const { stdout } = await run(python, ["-c", SCRIPT], { env: environment, timeout: limitMs, signal });
    versions = stdout.split(/\r?\n/);
  } catch (error) {
    if (signal.aborted) throw error;
    const { code } = error as { code?: string | number };
    return failed(`${python} cannot be asked (${String(code)})`, "install Python 3.10 or newer");
  }
  const [pulumi = "", sdk = ""] = versions;
  if (sdk === "") return failed(`pulumi_apichat is not installed for ${python}`, installHint(project));
  if (pulumi === "" || isOlder(pulumi, MIN_PULUMI)) {
    return failed(
      `pulumi ${pulumi || "is not installed"} for ${python}; ${MIN_PULUMI} or newer is needed`,
      `pulumi>=${MIN_PULUMI},<4 in requirements.txt, then ${INSTALL}`,
    );
  }
  return ok(`pulumi_apichat ${sdk}, pulumi ${pulumi}`);
}
