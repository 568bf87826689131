/** A state that owns a bot. */
export interface Claim {
  /** Distinguishes this state from others of the same workspace. */
  claimId: string;
  /** The resource of the program, see `resourceOf` in run.ts, and its name. */
  resource: string;
  name: string;
  /** Only diff has seen this state, so the engine may still replace it: a create of the same resource takes its place. */
  isReplaceable?: boolean;
}

/** What a run of the engine learns. Workspaces and bots are hashes, because it is written to a file: see run-log.ts. */
export type Fact =
  /** From check: the program declares a workspace. */
  | { fact: "declared"; workspace: string; resource: string; name: string }
  /** From diff, or after a step of the resource: a state owns a bot. */
  | { fact: "held"; bot: string; claim: Claim }
  /** The state was deleted, or was never stored. */
  | { fact: "released"; bot: string; claimId: string };

/** The facts of a run, and what follows from them. */
export class Facts {
  /** By workspace, then by resource: its name. */
  readonly #declared = new Map<string, Map<string, string>>();
  readonly #holders = new Map<string, Claim>();

  constructor(facts: Iterable<Fact> = []) {
    for (const fact of facts) this.add(fact);
  }

  add(fact: Fact): void {
    if (fact.fact === "declared") {
      const { workspace, resource, name } = fact;
      const resources = this.#declared.get(workspace) ?? new Map<string, string>();
      this.#declared.set(workspace, resources.set(resource, name));
    } else if (fact.fact === "held") this.#holders.set(fact.bot, fact.claim);
    else if (this.#holders.get(fact.bot)?.claimId === fact.claimId) this.#holders.delete(fact.bot);
  }

  /** The names of the resources that declare a workspace, without the given one. */
  declarersOf(workspace: string, except?: string): string[] {
    const resources = [...(this.#declared.get(workspace) ?? [])];
    return resources.filter(([resource]) => resource !== except).map(([, name]) => name);
  }

  holderOf(bot: string): Claim | undefined {
    return this.#holders.get(bot);
  }
}
