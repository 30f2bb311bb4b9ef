import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isNotFound, orAbsent } from '../../host/os/absent.ts';
import { flush, writeFileSynced } from '../../host/os/atomic-file.ts';
import { entriesOf } from '../../host/os/directory.ts';
import type { Anchor, AnchorTip } from '../../store/register/anchor.ts';
import { numberText } from '../../store/register/facts.ts';

const NAME = /^\d{12}\.json$/;

/**
 * Anchor in a folder beside the audit key (0700), one file per tip named by the entry's number (0600). The greatest
 * name counts, and only lower ones are removed: control workers that share a folder need no lock, and none turns it
 * back.
 */
export class AnchorFiles implements Anchor {
  /** Name of the last file that this process wrote. */
  #own: string | null = null;

  constructor(private readonly folder: string) {}

  async read(): Promise<AnchorTip | null> {
    for (;;) {
      const name = (await this.#names()).at(-1);
      if (name === undefined) return null;
      const text = await this.#text(name);
      if (text !== null) return parseTip(text, join(this.folder, name));
    }
  }

  async put(tip: AnchorTip): Promise<void> {
    const name = nameOf(tip);
    const part = join(this.folder, `${name}.${randomBytes(4).toString('hex')}.part`);
    try {
      await this.#write(part, `${JSON.stringify(tip)}\n`);
      await rename(part, join(this.folder, name));
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    await flush(this.folder);
    await this.#removeBelow(name);
  }

  async #write(path: string, text: string): Promise<void> {
    try {
      await writeFileSynced(path, text, 0o600, 'wx');
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      await flush(dirname(this.folder));
      await writeFileSynced(path, text, 0o600, 'wx');
    }
  }

  /** Removes lower files: those of other processes once, then only its own. */
  async #removeBelow(name: string): Promise<void> {
    const lower = this.#own === null ? (await this.#names()).filter((other) => other < name) : [this.#own];
    this.#own = name;
    for (const other of lower) if (other < name) await rm(join(this.folder, other), { force: true });
  }

  /** Returns the names, lowest first. */
  async #names(): Promise<string[]> {
    return ((await entriesOf(this.folder)) ?? []).filter((name) => NAME.test(name)).toSorted();
  }

  /** @returns null when another process has just removed the file: then a greater one exists */
  #text(name: string): Promise<string | null> {
    return orAbsent(readFile(join(this.folder, name), 'utf8'));
  }
}

function nameOf({ number }: AnchorTip): string {
  return `${numberText(number)}.json`;
}

/** @throws Error when the file is not an anchor */
function parseTip(text: string, path: string): AnchorTip {
  const { number, hash, at } = JSON.parse(text) as Partial<AnchorTip>;
  if (typeof number !== 'number' || typeof hash !== 'string' || typeof at !== 'string')
    throw new Error(`${path} is not an anchor of Mayfly's`);
  return { number, hash, at };
}
