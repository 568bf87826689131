import { availableParallelism, cpus, loadavg } from "node:os";
import process from "node:process";
import { resolveEngine } from "../engine/resolve.ts";

/** What the results depend on. */
export interface Machine {
  cores: number;
  processor: string;
  node: string;
  /** The engine's version. */
  engine: string;
  /** The load average of the last minute, before the first row: what else the machine was busy with. */
  loadBefore: number;
}

export async function describeMachine(signal: AbortSignal): Promise<Machine> {
  const [loadBefore = Number.NaN] = loadavg();
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? "unknown",
    node: process.version,
    engine: (await resolveEngine({ signal })).version,
    loadBefore,
  };
}

export const formatMachine = ({ cores, processor, node, engine, loadBefore }: Machine): string =>
  `${cores} cores (${processor}), Node ${node}, Pulumi engine ${engine}, load before ${loadBefore.toFixed(1)}`;
