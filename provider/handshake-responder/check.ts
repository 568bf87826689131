import { isIP } from "node:net";
import { isAbsolute, join, normalize } from "node:path";
import {
  checkUrl,
  fail,
  kindOf,
  type CheckFailure,
  type CheckResult,
  type RawInputs,
} from "../resource/checks.js";
import { UNKNOWN } from "../resource/unknown.js";
import { DEFAULT_HOST } from "./addresses.js";
import { checkWorkspaces, warnOfShortKeys } from "./check-workspaces.js";
import { isWithin, stateFolder } from "./data-dir.js";
import type { ProcessInputs } from "./inputs.js";
import { declareDataDir } from "./managed.js";
import { belongsTo, markStack } from "./owner.js";

const LARGEST_PORT = 65_535;

/**
 * Resolves the defaults and says everything that is wrong at once. Starts and writes nothing. Values that a preview does
 * not know pass.
 */
export async function check(olds: unknown, news: RawInputs): Promise<CheckResult<ProcessInputs>> {
  const { dataDir, organization, ...rest } = news;
  const former = (olds ?? {}) as Partial<ProcessInputs>;
  const inputs: RawInputs = {
    ...rest,
    instanceKey: await markStack(String(news["instanceKey"]), organization),
    host: news["host"] ?? DEFAULT_HOST,
  };
  inputs["dataDir"] =
    dataDir === undefined
      ? chooseDataDir(former, String(news["instanceKey"]), inputs)
      : normalizeDataDir(dataDir);
  const failures = [
    ...checkWorkspaces(inputs["workspaces"], inputs["verificationKeys"]),
    ...checkHost(inputs["host"]),
    ...checkPort(inputs["port"]),
    ...checkPublicUrl(inputs["publicUrl"]),
    ...checkDataDir(inputs["dataDir"]),
  ];
  const checked = inputs as unknown as ProcessInputs;
  if (failures.length > 0) return { inputs: checked, failures };
  warnOfShortKeys(checked.name, checked.verificationKeys);
  return { inputs: checked, failures: checkDuplicate(checked) };
}

/**
 * The folder of a resource that names none: one for each resource, in the user's state folder. One that it has there stays
 * its folder, also when stack or resource are renamed: it holds the process and what is not delivered yet.
 */
function chooseDataDir(former: Partial<ProcessInputs>, unmarkedKey: string, inputs: RawInputs): string {
  const folder = stateFolder();
  if (former.dataDir !== undefined && isWithin(former.dataDir, folder)) return former.dataDir;
  // As versions before the file `owner.txt` have named it, if a refresh has found that process gone.
  const unmarked = join(folder, unmarkedKey);
  const { instanceKey, verificationKeys = {} } = inputs as Partial<ProcessInputs>;
  const isOurs = belongsTo(unmarked, [{ instanceKey: String(instanceKey), verificationKeys }]);
  return isOurs ? unmarked : join(folder, String(instanceKey));
}

function normalizeDataDir(given: unknown): unknown {
  if (typeof given !== "string" || !isAbsolute(given)) return given;
  return normalize(given).replace(/(?<=.)\/+$/, "");
}

function checkHost(value: unknown): CheckFailure[] {
  if (value === UNKNOWN) return [];
  const hint = 'write "127.0.0.1", or "0.0.0.0" for every interface';
  if (typeof value !== "string")
    return [fail(`host: must be a string, got ${kindOf(value)}; ${hint}`, "host")];
  if (isIP(value) > 0 || /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(value)) return [];
  return [
    fail(
      `host: must be an address or a name, without scheme and port, got ${JSON.stringify(value)}; ${hint}`,
      "host",
    ),
  ];
}

function checkPort(value: unknown): CheckFailure[] {
  if (value === undefined || value === UNKNOWN) return [];
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= LARGEST_PORT) return [];
  const got = typeof value === "number" ? value : kindOf(value);
  return [
    fail(
      `port: must be a whole number from 0 to ${LARGEST_PORT}, got ${got}; leave it out for a free one, which is kept`,
      "port",
    ),
  ];
}

function checkPublicUrl(value: unknown): CheckFailure[] {
  if (value === undefined) return checkOnCi();
  const failures = checkUrl("publicUrl", value, "https://tunnel.example");
  if (failures.length > 0 || typeof value !== "string" || !value.includes("?")) return failures;
  return [
    fail(
      'publicUrl: must have no query, because paths are put behind it; write for example "https://tunnel.example"',
    ),
  ];
}

/** A CI machine ends with its job, and the process with it: the service would be given an address that is dead. */
function checkOnCi(): CheckFailure[] {
  const value = process.env["CI"] ?? "";
  if (["", "0", "false"].includes(value.toLowerCase())) return [];
  return [
    fail(
      "publicUrl: is missing, and the environment variable CI is set: a responder started here ends with the CI job, and nobody reaches it at 127.0.0.1. " +
        "Run pulumi up on the machine that is to answer, or give publicUrl, the address of a tunnel or reverse proxy that leads here; " +
        "for a deployment from CI see examples/cloudflare and examples/aws. If this is no CI machine, set CI=false",
    ),
  ];
}

function checkDataDir(value: unknown): CheckFailure[] {
  if (value === UNKNOWN) return [];
  const hint = "leave it out for a folder in ~/.local/state";
  if (typeof value !== "string" || !isAbsolute(value)) {
    const got = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
    return [fail(`dataDir: must be an absolute path, got ${got}; ${hint}`, "dataDir")];
  }
  if (!isWithin(value, process.cwd())) return [];
  return [
    fail(
      `dataDir: must be outside the program's folder, got ${JSON.stringify(value)}: it holds keys and messages, and would be committed or published with the program; name another one, such as /var/lib/apichat`,
      "dataDir",
    ),
  ];
}

function checkDuplicate({ name, dataDir }: ProcessInputs): CheckFailure[] {
  if (dataDir === UNKNOWN) return [];
  const other = declareDataDir(dataDir, name);
  if (other === undefined) return [];
  // The engine checks them in any order.
  const names = [other, name].toSorted().map((one) => `"${one}"`);
  return [
    fail(
      `dataDir: ${names.join(" and ")} share ${dataDir}, and a folder belongs to one process; give one of them its own`,
    ),
  ];
}
