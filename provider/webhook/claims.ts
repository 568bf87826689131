import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeSync,
} from "node:fs";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { hasCode, makeFolders } from "../lib/files.js";
import { printWarning } from "../lib/provider-process.js";

/** A state that holds a bot, and the name that the program gives it. */
export interface Claim {
  name: string;
  /** Tells this state apart from another one of the same workspace. */
  claimId: string;
}

/** One line of a file: who holds a bot, or which workspace a name is declared for. */
type Line = ({ bot: string } & Claim) | { name: string; address: string };

/** What another process of the run has written so far. */
interface Other {
  readBytes: number;
  /** By bot. */
  claims: Map<string, Claim>;
  /** What is declared, both ways. */
  addressByName: Map<string, string>;
  nameByAddress: Map<string, string>;
}

/** The folder of this user, in which each run has one of its own. Containers may share it, and each has pids of its own. */
const rootFolder = (): string =>
  join(tmpdir(), `pulumi-apichat-${hostname()}-${process.getuid?.() ?? userInfo().username}`);

/**
 * What the provider processes of one run know of each other: those of both doors, and of several explicit providers. The engine
 * starts them with one address, its own, and ends them with the run. Each appends to a file that it alone writes,
 * `<folder of this user>/<address of the engine>/<pid>.jsonl`, and reads the others' when it has to know. A file counts
 * while its process lives. No secret is in it. Where the folder cannot be used, a process knows of none but itself.
 */
export class SharedClaims {
  readonly #root: string;
  readonly #folder: string;
  readonly #ownFile: string;
  readonly #others = new Map<string, Other>();
  #isUsable = true;
  /** Of its own file, once that is needed. */
  #descriptor: number | undefined;

  constructor(engineAddress: string, { root = rootFolder(), pid = process.pid } = {}) {
    this.#root = root;
    this.#folder = join(root, encodeURIComponent(engineAddress));
    this.#ownFile = `${pid}.jsonl`;
  }

  /** Writes that this process holds a bot, or that its program declares a name for a workspace. */
  write(line: Line): void {
    this.#attempt((descriptor) => writeSync(descriptor, `${JSON.stringify(line)}\n`));
  }

  /** The claim of another process on a bot, and whether its program declares the name. A claim of the same state is none. */
  claimOf(bot: string, claimId: string): (Claim & { isDeclared: boolean }) | undefined {
    for (const { claims, addressByName } of this.#readOthers()) {
      const claim = claims.get(bot);
      if (claim && claim.claimId !== claimId) return { ...claim, isDeclared: addressByName.has(claim.name) };
    }
    return undefined;
  }

  /** The name that the program of another process declares for one of these workspaces. */
  nameAt(workspaces: readonly string[]): string | undefined {
    const others = this.#readOthers();
    const names = workspaces.flatMap((each) => others.map(({ nameByAddress }) => nameByAddress.get(each)));
    return names.find((name) => name !== undefined);
  }

  /** Takes the file away. */
  readonly close = (): void => {
    this.#isUsable = false;
    if (this.#descriptor === undefined) return;
    process.off("exit", this.close);
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
    rmSync(join(this.#folder, this.#ownFile), { force: true });
    removeIfEmpty(this.#folder);
  };

  #readOthers(): Other[] {
    this.#attempt(() => {
      for (const file of readdirSync(this.#folder)) {
        if (file === this.#ownFile) continue;
        const news = lives(file) ? this.#readNews(file) : undefined;
        if (news === undefined) this.#others.delete(file);
      }
    });
    return [...this.#others.values()];
  }

  /** Reads what was written since the last time, up to the end of the last whole line. Undefined: the file is gone. */
  #readNews(file: string): Other | undefined {
    const other = this.#others.get(file) ?? newOther();
    const news = ifThere(() => readFrom(join(this.#folder, file), other.readBytes));
    if (news === undefined) return undefined;
    const whole = news.subarray(0, news.lastIndexOf("\n") + 1);
    for (const text of whole.toString("utf8").split("\n").slice(0, -1)) {
      const line = JSON.parse(text) as Line;
      if ("bot" in line) other.claims.set(line.bot, line);
      else declare(other, line);
    }
    other.readBytes += whole.length;
    this.#others.set(file, other);
    return other;
  }

  #attempt(work: (descriptor: number) => void): void {
    if (!this.#isUsable) return;
    try {
      this.#descriptor ??= this.#open();
      work(this.#descriptor);
    } catch (error) {
      this.#isUsable = false;
      printWarning("pulumi-apichat", `${(error as Error).message}; ${UNSEEN}`);
    }
  }

  #open(): number {
    makeFolders(this.#root);
    requirePrivate(this.#root);
    removeDead(this.#root);
    process.once("exit", this.close);
    const path = join(this.#folder, this.#ownFile);
    const open = (): number => {
      makeFolders(this.#folder);
      return openSync(path, "w", 0o600);
    };
    // The last process of the run so far may take the folder away in between.
    return ifThere(open) ?? open();
  }
}

const newOther = (): Other => ({
  readBytes: 0,
  claims: new Map(),
  addressByName: new Map(),
  nameByAddress: new Map(),
});

/** A name is declared for the workspace that came last. */
function declare(
  { addressByName, nameByAddress }: Other,
  { name, address }: { name: string; address: string },
): void {
  nameByAddress.delete(addressByName.get(name) ?? "");
  addressByName.set(name, address);
  nameByAddress.set(address, name);
}

const UNSEEN =
  "so this provider does not see what another one of the same run takes over, and would delete it; set TMPDIR to a folder that only this user may open";

/** Another user could write claims into a folder of theirs. */
function requirePrivate(folder: string): void {
  const stats = lstatSync(folder);
  const isOurs = process.getuid === undefined || stats.uid === process.getuid();
  // Windows keeps no such bits, and its temporary folder is the user's own.
  const isOpen = process.platform !== "win32" && (stats.mode & 0o077) !== 0;
  if (!stats.isDirectory() || !isOurs || isOpen) throw new Error(`${folder} is not of this user alone`);
}

/** The engine ends a provider without a word, so its file stays until another run comes. */
function removeDead(root: string): void {
  for (const run of readdirSync(root)) {
    const folder = join(root, run);
    const files = ifThere(() => readdirSync(folder)) ?? [];
    for (const file of files.filter((each) => !lives(each))) rmSync(join(folder, file), { force: true });
    // One without a file is just being made.
    if (files.length > 0) removeIfEmpty(folder);
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTEMPTY", "EEXIST", "EPERM", "EBUSY")) throw error;
  }
}

/** Whether the process that writes a file lives. */
function lives(file: string): boolean {
  try {
    return process.kill(Number.parseInt(file, 10), 0);
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

function readFrom(path: string, start: number): Buffer {
  const descriptor = openSync(path, "r");
  try {
    const news = Buffer.alloc(fstatSync(descriptor).size - start);
    return news.subarray(0, readSync(descriptor, news, 0, news.length, start));
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined if there is no such file or folder: another process takes them away. */
function ifThere<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    return undefined;
  }
}
