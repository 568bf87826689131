import { hash } from "node:crypto";
import type { ListedWorkspace } from "../workspace-list/index.js";

/**
 * Returns the index of a workspace's stack. It depends only on the name and the count, not on other workspaces.
 * Because of rendezvous hashing, a larger count moves workspaces only into the new stacks.
 */
export function stackOf(workspace: string, count: number): number {
  let best = { index: 0, score: -1 };
  for (let index = 0; index < count; index += 1) {
    // 48 bits, which a number can represent exactly.
    const score = Number.parseInt(hash("sha256", `${index}/${workspace}`).slice(0, 12), 16);
    if (score > best.score) best = { index, score };
  }
  return best.index;
}

/** The name of a stack. It contains the count, so all names change if the count does. */
export function stackName(fleet: string, index: number, count: number): string {
  return `${fleet}-${String(index).padStart(String(count - 1).length, "0")}-of-${count}`;
}

export const indexStackName = (fleet: string): string => `${fleet}-index`;

/** The count in the name of a stack of this fleet; undefined for any other name. */
export function countInName(fleet: string, stack: string): number | undefined {
  const [, count] = new RegExp(`^${fleet}-\\d+-of-(\\d+)$`).exec(stack) ?? [];
  return count === undefined ? undefined : Number(count);
}

/** One stack of a fleet. */
export interface PlacedStack {
  /** The name of the stack, such as `production-07-of-20`. */
  name: string;
  /** The workspaces that it deploys. */
  workspaces: ListedWorkspace[];
}

export function placeWorkspaces(
  fleet: string,
  workspaces: readonly ListedWorkspace[],
  count: number,
): PlacedStack[] {
  const byStack = Map.groupBy(workspaces, ({ name }) => stackOf(name, count));
  return Array.from({ length: count }, (_, index) => ({
    name: stackName(fleet, index, count),
    workspaces: byStack.get(index) ?? [],
  }));
}

export function splitIntoWaves(stacks: readonly PlacedStack[], waveSize: number): PlacedStack[][] {
  const waves = stacks.length === 0 ? [] : [stacks.slice(0, 1)];
  for (let from = 1; from < stacks.length; from += waveSize) waves.push(stacks.slice(from, from + waveSize));
  return waves;
}
