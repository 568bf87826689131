import { renderFailure, type Failure } from "../errors/index.js";
import type { FleetFailure } from "./reports.js";

export const toFailure = (error: Failure, where: Pick<FleetFailure, "stack" | "workspace">): FleetFailure => {
  const { subject: _, ...bare } = error;
  return { ...where, message: renderFailure(bare, "fleet"), error: bare };
};

/** Runs an operation on a stack. Returns its failure in an array, which is empty if it succeeds. */
export async function failureOf(stack: string, work: () => Promise<void>): Promise<FleetFailure[]> {
  try {
    await work();
    return [];
  } catch (error) {
    return [{ stack, message: error instanceof Error ? error.message : String(error) }];
  }
}
