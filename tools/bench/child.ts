import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ServerReport } from "./settings.ts";

/** A module that runs in a process of its own, and answers each message with one message. */
export interface Child<Answer> {
  /** What it reported first. */
  ready: Answer;
  ask(): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts a module in another process, so that it does not share this one's event loop. It ends with this process. */
export async function startChild<Answer>(
  module: URL,
  parameters: readonly string[] = [],
  options: { execArgv?: string[] } = {},
): Promise<Child<Answer>> {
  const child = fork(fileURLToPath(module), [...parameters], options);
  return {
    ready: await nextAnswer<Answer>(child),
    ask: () => {
      const answer = nextAnswer<Answer>(child);
      child.send("ask");
      return answer;
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** Starts a server of servers.ts. */
export const startServer = <Answer = ServerReport>(
  name: string,
  parameters: readonly string[] = [],
  options: { execArgv?: string[] } = {},
): Promise<Child<Answer>> =>
  startChild<Answer>(new URL("servers.ts", import.meta.url), [name, ...parameters], options);

async function nextAnswer<Answer>(child: ChildProcess): Promise<Answer> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const gone = once(child, "exit", { signal }).then(([code, killedBy]) => {
    throw new Error(`${child.spawnfile} ended by itself: ${String(killedBy ?? code)}`);
  });
  try {
    const [answer] = (await Promise.race([once(child, "message", { signal }), gone])) as [Answer];
    return answer;
  } finally {
    waiting.abort();
    // It rejects now that nobody waits for it.
    await gone.catch(() => undefined);
  }
}

/** The other side of {@link startChild}: sends `report()` now and on each message. Ends when the parent is gone. */
export function serveParent(report: () => unknown): void {
  const send = (): void => void process.send?.(report());
  process.on("message", send);
  process.on("disconnect", () => process.exit());
  send();
}
