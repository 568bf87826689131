/** A state that owns a bot. */
export interface Claim {
  claimId: string;
  /** Identifies the resource: see `resourceOf` in run.ts. */
  resource: string;
  name: string;
}

/**
 * What a run of the engine learns. Each comment says which step learns the fact, and what the fact decides.
 * Workspaces and bots are hashes, because facts are written to a file: see run-log.ts.
 */
export type Fact =
  /**
   * From check: the program declares a workspace. The check of another resource that declares the same
   * workspace fails, and no delete removes the workspace's webhook.
   */
  | { fact: "declared"; workspace: string; resource: string; name: string }
  /**
   * From a diff that finds no change: a state owns a bot. If the create or update of another resource
   * reaches this bot, it fails; the delete of another state keeps the webhook. A create of the same resource
   * may take the bot over.
   */
  | { fact: "held"; step: "diff"; bot: string; claim: Claim }
  /** From a create or update that reached the bot: as above, but no other state may take the bot over. */
  | { fact: "held"; step: "write"; bot: string; claim: Claim }
  /** From a delete, or a create that fails: any state may now own the bot. */
  | { fact: "released"; bot: string; claimId: string };

type Held = Extract<Fact, { fact: "held" }>;

export class RunFacts {
  /** For each workspace: the resources that declare it, with their names. */
  readonly #declared = new Map<string, Map<string, string>>();
  readonly #held = new Map<string, Held>();

  constructor(facts: Iterable<Fact> = []) {
    for (const fact of facts) this.add(fact);
  }

  add(fact: Fact): void {
    if (fact.fact === "declared") {
      const { workspace, resource, name } = fact;
      const resources = this.#declared.get(workspace) ?? new Map<string, string>();
      this.#declared.set(workspace, resources.set(resource, name));
    } else if (fact.fact === "held") this.#held.set(fact.bot, fact);
    else if (this.#held.get(fact.bot)?.claim.claimId === fact.claimId) this.#held.delete(fact.bot);
  }

  declarerOf(workspace: string, except?: string): string | undefined {
    const resources = [...(this.#declared.get(workspace) ?? [])];
    return resources.find(([resource]) => resource !== except)?.[1];
  }

  otherHolderOf(bot: string, claimId: string): Claim | undefined {
    const claim = this.#held.get(bot)?.claim;
    return claim?.claimId === claimId ? undefined : claim;
  }

  /** Returns the claim of another state that rules out this claim to the same bot. */
  rivalOf({ bot, step, claim }: Held): Claim | undefined {
    const other = this.otherHolderOf(bot, claim.claimId);
    const isReplaced = this.#held.get(bot)?.step === "diff" && step === "write";
    return isReplaced && other?.resource === claim.resource ? undefined : other;
  }
}
