import { createHash } from 'node:crypto';
import { type Sink, type TarEntry, tarEntries } from '../../host/disk/tar-entries.ts';
import type { StepContext } from '../../host/step-context.ts';
import { PathPattern } from '../../model/dockerfile/patterns/glob.ts';
import { MayflyError } from '../../model/errors.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { ARTIFACTS_FOLDER, DEFAULT_RESULT_TYPE, RESULT_FILE } from '../../model/functions/guest-layout.ts';
import type { RunArtifact, RunResult } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Mask } from '../../model/secrets/mask.ts';
import { quoteMasked } from '../../model/secrets/masked-json.ts';
import type { Store } from '../../store/connect.ts';
import type { GuestRequests } from './guest-requests.ts';

/** Limit of files, folders and links read from the artifacts folder, collected or not. */
const MAX_ENTRIES = 20_000;
/** Media type of RFC 9110 §8.3.1, without quoted parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:; ?[\w-]+=[\w.-]+){0,4}$/;
const TYPE_BYTES = 512;
/** Limit of an artifact's path, bytes. */
const NAME_BYTES = 1_024;

type Contents = Pick<Store, 'runContents'>['runContents'];

export interface Place {
  runContents: Contents;
  runId: string;
  /** Mask of the result and of all names; null: no secrets. */
  mask: Mask | null;
}

/**
 * Stores the result up to its limit, even an invalid one.
 * @param isPartial true: its process failed, so nothing is a problem
 * @throws MayflyError result_too_large, result_invalid
 */
export async function collectResult(
  guest: GuestRequests,
  { runContents, runId, mask }: Place,
  { result: { maxBytes } }: Pick<FunctionSpec, 'result'>,
  isPartial: boolean,
): Promise<{ result: RunResult | null; problem: MayflyError | null }> {
  const found = await guest.look(RESULT_FILE);
  if (!found) return { result: null, problem: null };
  if (found.type !== 'file') return { result: null, problem: invalid(`it is no regular file but a ${found.type}`) };
  const read = await guest.read(RESULT_FILE, maxBytes);
  const { contentType, problem: ofType } = await typeOf(guest, mask);
  const bytes = mask ? maskResult(read, mask, { isCut: found.size > read.length, contentType }) : read;
  const tooLarge = found.size > maxBytes ? new MayflyError('result_too_large', largeText(found.size, maxBytes)) : null;
  const problem = tooLarge ?? ofType ?? notJson(contentType, bytes);
  await runContents.put(runId, 'result', bytes);
  const partial = isPartial || problem !== null;
  return { result: { contentType, bytes: bytes.length, digest: sha256(bytes), partial }, problem };
}

async function typeOf(
  guest: GuestRequests,
  mask: Mask | null,
): Promise<{ contentType: string; problem: MayflyError | null }> {
  const found = await guest.look(`${RESULT_FILE}.type`);
  if (!found) return { contentType: DEFAULT_RESULT_TYPE, problem: null };
  const text =
    found.type === 'file' ? (await guest.read(`${RESULT_FILE}.type`, TYPE_BYTES)).toString('latin1').trim() : '';
  if (MEDIA_TYPE.test(text) && (mask?.text(text) ?? text) === text) return { contentType: text, problem: null };
  return { contentType: 'application/octet-stream', problem: invalid('$MAYFLY_RESULT.type names no media type') };
}

/** Masks secrets; JSON stays valid where possible. */
function maskResult(read: Buffer, mask: Mask, { isCut, contentType }: { isCut: boolean; contentType: string }): Buffer {
  const bytes = mask.bytes(read, { isCut });
  if (bytes.equals(read) || notJson(contentType, bytes) === null || notJson(contentType, read) !== null) return bytes;
  const quoted = Buffer.from(quoteMasked(bytes.toString()));
  return notJson(contentType, quoted) === null ? quoted : bytes;
}

function notJson(contentType: string, bytes: Uint8Array): MayflyError | null {
  if (!/^application\/(?:[\w.-]+\+)?json(?:;|$)/i.test(contentType)) return null;
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return null;
  } catch (cause) {
    return new MayflyError('result_invalid', 'The result is announced as JSON, and does not parse.', { cause });
  }
}

function invalid(why: string): MayflyError {
  return new MayflyError('result_invalid', `The result is not one: ${why}.`);
}

function largeText(bytes: number, limit: number): string {
  return `The result has ${bytes} bytes, ${limit} at most are taken.`;
}

/**
 * Collects the artifacts of a run: regular files in their folder, no links. Keeps those before one that is too large,
 * or one too many.
 */
export async function collectArtifacts(
  guest: GuestRequests,
  { runContents, runId, mask }: Place,
  { artifacts: { globs, maxBytes } }: Pick<FunctionSpec, 'artifacts'>,
  { alive }: Pick<StepContext, 'alive'>,
): Promise<{ artifacts: RunArtifact[]; problem: MayflyError | null }> {
  const artifacts: RunArtifact[] = [];
  const found = globs.length === 0 ? null : await guest.look(ARTIFACTS_FOLDER);
  if (!found) return { artifacts, problem: null };
  if (found.type !== 'directory') return { artifacts, problem: invalid('$MAYFLY_ARTIFACTS is no folder any more') };
  const patterns = globs.map((glob) => new PathPattern(glob));
  const fetching = new ArtifactCollection({ runContents, runId, mask }, maxBytes, alive);
  const sinkOf = (entry: TarEntry): Sink | null => fetching.take(entry, patterns);
  const entries: TarEntry[] = [];
  try {
    for await (const entry of tarEntries(await guest.tar(ARTIFACTS_FOLDER), sinkOf)) {
      const artifact = await fetching.taken(entry);
      if (artifact && artifacts.push(artifact)) entries.push(entry);
      alive(`${artifacts.length} artifacts`);
    }
    return { artifacts: artifacts.map((each, n) => addNote(each, entries[n]?.note ?? null, mask)), problem: null };
  } catch (error) {
    if (error instanceof MayflyError && error.code.startsWith('result_')) return { artifacts, problem: error };
    throw error;
  }
}

/** Adds a note, e.g. that the file shrank while it was read. */
function addNote(artifact: RunArtifact, note: string | null, mask: Mask | null): RunArtifact {
  if (note === null) return artifact;
  const text = Buffer.from(note, 'latin1')
    .toString('utf8')
    .replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}');
  return { ...artifact, note: mask?.text(text) ?? text };
}

/** Collection of one archive, as it is streamed. */
class ArtifactCollection {
  #entries = 0;
  #left: number;
  #n = 0;
  #hash = createHash('sha256');
  #writer: ReturnType<Contents['writer']> | null = null;

  constructor(
    private readonly place: Place,
    private readonly maxBytes: number,
    private readonly alive: StepContext['alive'],
  ) {
    this.#left = maxBytes;
  }

  /** @throws MayflyError result_too_large, result_invalid */
  take(entry: TarEntry, patterns: readonly PathPattern[]): Sink | null {
    const skipped: Sink = () => undefined;
    if (++this.#entries > MAX_ENTRIES) {
      throw new MayflyError('result_too_large', `$MAYFLY_ARTIFACTS has more than ${MAX_ENTRIES} entries.`);
    }
    this.#writer = null;
    const parts = entry.path.split('/').slice(1);
    if (entry.type !== 'file' || entry.sameAs !== null || !patterns.some((one) => one.matches(parts))) return skipped;
    if (this.#n >= LIMITS.functions.artifacts) {
      throw new MayflyError('result_too_large', `There are more than ${LIMITS.functions.artifacts} artifacts.`);
    }
    if (entry.size > this.#left) {
      throw new MayflyError('result_too_large', `The artifacts have more than ${this.maxBytes} bytes.`);
    }
    nameOf(entry);
    this.#left -= entry.size;
    this.#hash = createHash('sha256');
    const writer = this.place.runContents.writer(this.place.runId, `artifact/${this.#n}`);
    this.#writer = writer;
    return (piece) => {
      this.alive(`artifact ${this.#n + 1}`);
      this.#hash.update(piece);
      return writer.write(Buffer.from(piece));
    };
  }

  async taken(entry: TarEntry): Promise<RunArtifact | null> {
    if (!this.#writer) return null;
    await this.#writer.end();
    this.#n += 1;
    const name = nameOf(entry);
    return { path: this.place.mask?.text(name) ?? name, bytes: entry.size, digest: this.#hash.digest('hex') };
  }
}

/** @throws MayflyError result_invalid */
function nameOf({ path }: TarEntry): string {
  const bytes = Buffer.from(path, 'latin1').subarray(1);
  try {
    const name = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (bytes.length <= NAME_BYTES && !/[\p{Cc}\p{Cf}]/u.test(name)) return name;
  } catch {
    // refused below
  }
  throw new MayflyError(
    'result_invalid',
    `An artifact has a name with control characters, of more than ${NAME_BYTES} bytes, or one that is not UTF-8.`,
  );
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
