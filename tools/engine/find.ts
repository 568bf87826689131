import { realpath } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, resolve } from "node:path";
import { findExecutable, hosts, readVersion, type Engine } from "./engine.ts";

/**
 * The Pulumi CLI of the user: the one that `PULUMI_APICHAT_ENGINE` names, else the first `pulumi` on PATH. Throws,
 * saying what is wrong with it, if there is none, it is too old, or its hosts lie neither beside it nor on PATH.
 */
export async function findEngine(env: NodeJS.ProcessEnv): Promise<Engine> {
  const folders = (env.PATH ?? "").split(delimiter).filter(isAbsolute);
  const named = env.PULUMI_APICHAT_ENGINE;
  const command = named ? resolve(named) : findExecutable("pulumi", folders);
  if (command === undefined) throw new Error("there is no pulumi on PATH");
  const target = await realpath(command);
  for (const host of hosts) {
    if (findExecutable(host, [dirname(command), dirname(target), ...folders]) === undefined) {
      throw new Error(`${command} is there, but ${host} is neither beside it nor on PATH`);
    }
  }
  return { command, directory: dirname(command), version: await readVersion(command, env), source: "path" };
}
