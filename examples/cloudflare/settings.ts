import * as pulumi from "@pulumi/pulumi";

/** A workspace of the service. */
export interface Workspace {
  /** The workspace's address at the service. */
  baseUrl: string;
  /** The URL to which the workspace's deliveries are forwarded. */
  forwardTo: string;
}

/** The stack's configuration. */
export interface Settings {
  accountId: string;
  /** Keyed by name, which is also the path of the webhook URL and the name of the resources. */
  workspaces: Record<string, Workspace>;
  /** The secret from which the verification keys of all workspaces are derived. */
  keySeed: pulumi.Output<string>;
  /** The current rotation first, then the earlier ones whose keys are still accepted. */
  rotations: string[];
  /** A host name in a zone of the account. Without it, the Worker runs on workers.dev. */
  hostname: string | undefined;
  replayDeadLetters: boolean;
}

/** Reads the configuration. If workspaces have problems, throws one error that lists all of them. */
export function readSettings(): Settings {
  const config = new pulumi.Config();
  const workspaces = config.requireObject<Record<string, Workspace>>("workspaces");
  const problems = Object.entries(workspaces).flatMap(findProblems);
  if (problems.length > 0) throw new pulumi.RunError(["workspaces:", ...problems].join("\n  "));
  return {
    accountId: config.require("accountId"),
    workspaces,
    keySeed: config.requireSecret("keySeed"),
    rotations: config.requireObject<string[]>("rotations"),
    hostname: config.get("hostname"),
    replayDeadLetters: config.getBoolean("replayDeadLetters") ?? false,
  };
}

/** The Worker's host name on workers.dev. */
export function workersDevHostname(scriptName: string): string {
  return `${scriptName}.${new pulumi.Config().require("workersSubdomain")}.workers.dev`;
}

function findProblems([name, workspace]: [string, Partial<Workspace> | null]): string[] {
  const problems: string[] = [];
  // The name is part of a binding's name.
  if (!/^[A-Za-z0-9_]+$/.test(name)) problems.push(`${name}: the name must be letters, digits and "_"`);
  if (URL.parse(workspace?.baseUrl ?? "") === null) problems.push(`${name}.baseUrl: must be a URL`);
  if (URL.parse(workspace?.forwardTo ?? "") === null) problems.push(`${name}.forwardTo: must be a URL`);
  return problems;
}
