import type { ApiChatErrorCode, ApiChatOperation, Failure } from "./failure.js";
import { renderFailure } from "./render.js";

export * from "./failure.js";
export { fieldName, removalCommand, type Audience, type Hint } from "./hints.js";
export { renderFailure, renderProblem, toPlainText } from "./render.js";

/** All of a {@link Failure} but its code and summary; only the operation is required. */
export type ApiChatErrorDetails = { [Key in keyof FailureDetails]?: FailureDetails[Key] | undefined } & {
  operation: ApiChatOperation;
  cause?: unknown;
};

type FailureDetails = Omit<Failure, "code" | "summary">;

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- the constructor assigns every field of the failure
export interface ApiChatError extends Readonly<Failure> {}

/**
 * Every failure that this package reports deliberately. Check `code` and `hints`, not the text. `message` is worded for
 * program authors; `renderFailure` words it for other audiences. It contains no secrets.
 */
export class ApiChatError extends Error {
  override readonly name = "ApiChatError";
  readonly #failure: Failure;

  constructor(code: ApiChatErrorCode, summary: string, { cause, ...details }: ApiChatErrorDetails) {
    // Undefined fields are left out, so that a printed error shows only what it has.
    const given = Object.entries(details).filter(([, value]) => value !== undefined);
    const failure: Failure = {
      facts: {},
      hints: [],
      attempts: 0,
      ...Object.fromEntries(given),
      // Last, because the details may come from a different failure.
      code,
      operation: details.operation,
      summary,
    };
    super(renderFailure(failure), cause === undefined ? undefined : { cause });
    Object.assign(this, failure);
    this.#failure = failure;
  }

  /** The same failure with some of its data changed. */
  with(changes: Partial<Failure>): ApiChatError {
    const { code, summary, ...details } = { ...this.#failure, ...changes };
    return new ApiChatError(code, summary, { ...details, cause: this.cause });
  }

  /** The failure as data. */
  toJSON(): Failure {
    return this.#failure;
  }

  /**
   * Makes the SDK treat this as its own `RunError`: if it ends a program, only the message is printed, without a stack.
   */
  get __pulumiRunError(): true {
    return true;
  }
}
