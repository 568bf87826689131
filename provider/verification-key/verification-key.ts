import * as pulumi from "../pulumi/sdk.js";
import { rejectImport, rejectUnknownArgs, toOptions, toProperties } from "../pulumi/class-arguments.js";
import { INPUTS } from "../pulumi/resource-inputs.js";

/** How the keys are generated: at random, or derived from a seed. */
export interface VerificationKeyArgs {
  /**
   * The name of the current rotation, such as "2026-12". Setting it for the first time or changing it generates a new
   * key. Removing it has no effect.
   */
  rotation?: pulumi.Input<string | undefined>;
  /**
   * How many earlier keys stay in `keys`, from 0 to 10. Default 2: deliveries still verify after two
   * rotations that did not reach the service. 0 drops the earlier keys for good. A rotation with 0 rejects
   * deliveries until set-webhook has run, so use it only if the old key must be revoked at once.
   */
  keep?: pulumi.Input<number | undefined>;
  /** The length of a new key in random bytes, from 16 to 64. Default 32. A change generates a new key. */
  bytes?: pulumi.Input<number | undefined>;
  /**
   * A key that is already in use, which becomes the first key. Stored as a secret. If it is later changed to
   * a key that is not in `keys`, that key becomes the current one. Removing it has no effect.
   */
  initial?: pulumi.Input<string | undefined>;
  /**
   * A secret seed of at least 32 random bytes, such as `openssl rand -base64 32` prints, from which the keys
   * are derived (HKDF-SHA256): the same arguments produce the same keys on every machine, and
   * `deriveVerificationKeys` returns them for an endpoint. If this argument is a list, the current key is derived
   * from the first seed, and the keys of the others are also accepted. Requires `rotations`; cannot be combined with
   * `rotation`, `bytes` or `initial`. It is never stored in the state. Anyone who knows it knows all keys.
   */
  derivedFrom?: pulumi.Input<string | readonly pulumi.Input<string>[] | undefined>;
  /**
   * The owner of the derived keys, such as a workspace. Default: the resource's name. Set it if the resource may be
   * renamed: different subjects have different keys.
   */
  subject?: pulumi.Input<string | undefined>;
  /**
   * With `derivedFrom`: names of 1 to 10 rotations, the current one first, such as `["2026-12", "2026-09"]`. To rotate,
   * add a new name in front. To drop an earlier key, remove its name. Earlier random keys stay in `keys`, up to `keep`.
   */
  rotations?: pulumi.Input<readonly pulumi.Input<string>[] | undefined>;
}

/**
 * Creates the shared key for handshakes and signatures (section 2.1), keeps it encrypted in the stack's
 * state, and rotates it in place. Pass `current` to the webhook and `keys` to the responder, so that a
 * rotation loses no delivery. A random key exists nowhere else, so set `protect: true`, and set `aliases`
 * when you rename the resource: without them, a new name means a new key. For many workspaces, derive the
 * keys from one seed: see `derivedFrom`. Throws `invalid_config` for an unknown argument.
 *
 * @example
 * ```ts
 * const key = new VerificationKey("acme", { rotation: "2026-12" }, { protect: true });
 * const webhook = new ApiChatWebhook("acme", {
 *   baseUrl: "https://platform.example/acme/apichat",
 *   webhookUrl: "https://chat.acme.example/webhooks/apichat",
 *   webhookVerificationKey: key.current,
 * });
 * export const verificationKeys = key.keys;
 * ```
 */
export class VerificationKey extends pulumi.CustomResource {
  /**
   * The key to register: base64url without padding, unless it was passed as `initial`. Secret. Unknown in the preview
   * of a change to `keys`, unless it is derived.
   */
  declare readonly current: pulumi.Output<string>;
  /**
   * The keys to accept: the current one, then the earlier ones, newest first, up to `keep`. If derived: the keys of the
   * first seed in the order of `rotations`, then those of the other seeds. Secret.
   */
  declare readonly keys: pulumi.Output<string[]>;

  constructor(name: string, args: VerificationKeyArgs = {}, opts: pulumi.CustomResourceOptions = {}) {
    rejectImport(name, opts, "to keep using a live key, pass it as initial");
    rejectUnknownArgs(name, args, Object.keys(INPUTS.VerificationKey));
    const properties = toProperties("VerificationKey", name, args, ["current", "keys"]);
    const options = toOptions("VerificationKey", opts);
    super("pulumi-nodejs:dynamic/apichat:VerificationKey", name, properties, options);
  }
}
