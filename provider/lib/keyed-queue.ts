/** Runs the tasks of a key one after another; tasks of different keys do not wait for each other. */
export class KeyedQueue<Key = string> {
  /** The last task of each key that has unfinished tasks. These promises never reject. */
  readonly #last = new Map<Key, Promise<unknown>>();

  /** Runs a task once all earlier tasks of its key have settled, fulfilled or rejected. Settles like the task. */
  run<T>(key: Key, task: () => T | Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(task);
    const forget = (): void => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    };
    const settled = done.then(forget, forget);
    this.#last.set(key, settled);
    return done;
  }

  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
