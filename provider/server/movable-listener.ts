import type { NodeListener } from "../responder/node.js";
import { listen, type Address, type Listener } from "./listener.js";

/** A listener whose address can change while it answers. */
export class MovableListener {
  readonly #handle: NodeListener;
  #current: Listener;
  /** Those of earlier addresses that still answer what was under way. */
  readonly #leaving = new Set<Promise<void>>();

  private constructor(handle: NodeListener, current: Listener) {
    this.#handle = handle;
    this.#current = current;
  }

  /** Listens; throws `unavailable` if the address cannot be had. */
  static async open(address: Address, handle: NodeListener): Promise<MovableListener> {
    return new MovableListener(handle, await listen(address, handle));
  }

  /** Where it listens now, with the real port. */
  get address(): Address {
    const { host, port } = this.#current;
    return { host, port };
  }

  /**
   * Listens on the new address first and then leaves the old one, where what is under way is still answered. Throws
   * `unavailable` if the new one cannot be had, and stays where it is. Port 0 is content with the port that it has.
   */
  async move(wanted: Address): Promise<void> {
    const { host, port } = this.address;
    const target = wanted.host === host && wanted.port === 0 ? this.address : wanted;
    if (target.host === host && target.port === port) return;
    if (target.port === port) await this.#moveOnOnePort(target);
    else this.#replace(await listen(target, this.#handle));
  }

  /** Ends gracefully, here and at earlier addresses. */
  async close(): Promise<void> {
    await Promise.all([this.#current.close(), ...this.#leaving]);
  }

  /** "127.0.0.1" and "0.0.0.0" cannot both have one port: the old host must let go of it first. */
  async #moveOnOnePort(target: Address): Promise<void> {
    const before = this.address;
    this.#leave(this.#current);
    try {
      this.#current = await listen(target, this.#handle);
    } catch (error) {
      this.#current = await listen(before, this.#handle);
      throw error;
    }
  }

  #replace(next: Listener): void {
    this.#leave(this.#current);
    this.#current = next;
  }

  #leave(listener: Listener): void {
    const left = listener.close().finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }
}
