import { renderFailure, type Failure } from "../errors/index.js";
import type { FleetFailure } from "./reports.js";

export const toFailure = (error: Failure, where: Pick<FleetFailure, "stack" | "workspace">): FleetFailure => {
  const { subject: _, ...bare } = error;
  return { ...where, message: renderFailure(bare, "fleet"), error: bare };
};

/** Does something with a stack. Returns why it failed; empty if it did not. */
export async function failureOf(stack: string, work: () => Promise<void>): Promise<FleetFailure[]> {
  try {
    await work();
    return [];
  } catch (error) {
    return [{ stack, message: error instanceof Error ? error.message : String(error) }];
  }
}
