/** A usage error: exit code 2. The message says what is wrong and how to fix it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
