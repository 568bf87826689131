/** Keys that were read longer ago are read again before use. So a removed key may be accepted for this long. */
const MAX_AGE_MS = 60_000;
/** The shortest time between reads that rejected requests cause. Without it, anyone could cause many reads. */
const MIN_AGE_MS = 1_000;

/** Caches the verification keys between the invocations of one Lambda instance. */
export interface KeyCache {
  /** The keys. Rejects if they have never been read and cannot be read now. */
  current(): Promise<readonly string[]>;
  /** Reads the keys again, and returns whether they have changed. */
  renew(): Promise<boolean>;
}

/** Caches the result of `read`. If reading fails, the previous result stays in use, and the failure is logged. */
export function createKeyCache(read: () => Promise<readonly string[]>): KeyCache {
  let keys: readonly string[] | undefined;
  let lookedAtMs = 0;
  const ageMs = (): number => Date.now() - lookedAtMs;

  const look = async (): Promise<readonly string[]> => {
    try {
      keys = await read();
    } catch (error) {
      if (keys === undefined) throw error;
      console.error("The verification keys could not be read again:", String(error));
    }
    lookedAtMs = Date.now();
    return keys;
  };

  return {
    current: async () => (keys === undefined || ageMs() >= MAX_AGE_MS ? look() : keys),
    renew: async () => {
      if (keys === undefined || ageMs() < MIN_AGE_MS) return false;
      const before = JSON.stringify(keys);
      return JSON.stringify(await look()) !== before;
    },
  };
}
