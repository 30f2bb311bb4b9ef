import { rm } from 'node:fs/promises';
import { z } from 'zod';
import { sha256Of, stampOf } from '../../disk/base-digest.ts';
import { nullIf } from '../../os/absent.ts';
import { readJson, writeJson } from '../../os/json-file.ts';
import { readSaveImage } from './save-image.ts';

const RECORD = z.strictObject({ stamp: z.string(), sha256: z.string() });

/** Digest of the saved memory of a hibernated sandbox. Covers QEMU's stream: libvirt edits the text before it. */
export class MemoryDigest {
  /** @param image the saved memory @param file of its digest, which ends with the workspace */
  constructor(
    private readonly image: string,
    private readonly file: string,
  ) {}

  /** Hashes the saved memory, unless that is done, or libvirt is set to compress it. */
  async record(signal: AbortSignal): Promise<void> {
    if ((await this.#readRecord()) !== null) return;
    const stamp = await stampOf(this.image);
    const sha256 = await nullIf(this.#hash(signal), (error) => error instanceof TypeError);
    if (sha256 !== null) await writeJson(this.file, { stamp, sha256 });
  }

  /** Hashes the file again only when it was touched. Memory without a digest counts as unchanged. */
  async isUnchanged(signal: AbortSignal): Promise<boolean> {
    const recorded = await this.#readRecord();
    if (recorded === null || recorded.stamp === (await stampOf(this.image))) return true;
    return recorded.sha256 === (await this.#hash(signal));
  }

  async forget(): Promise<void> {
    await rm(this.file, { force: true });
  }

  #readRecord = () => readJson(this.file, RECORD);

  async #hash(signal: AbortSignal): Promise<string> {
    const { streamAt } = await readSaveImage(this.image);
    return await sha256Of(this.image, signal, streamAt);
  }
}
