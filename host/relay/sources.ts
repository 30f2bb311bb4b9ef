import { z } from 'zod';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { deriveSourceId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { SourceCommandResult, SourceOutput } from '../../model/snapshots/source-access.ts';
import type { Store } from '../../store/connect.ts';
import { ReferenceCounts } from '../os/reference-counts.ts';
import type { GateAnswer, GateRequest, SourceFileAbout } from '../source/gate-client.ts';
import type { SourceReads } from '../source/source-reads.ts';

interface SourceRelayDeps {
  hostId: string;
  store: Pick<Store, 'sources'>;
  sourceReads: SourceReads;
  /** Requests a certificate for this host's key to a source. @returns one OpenSSH certificate line */
  certify: (sourceId: string, publicKey: string) => Promise<string>;
}

/** Piece of a file, or a directory's entries as the gate lists them, one JSON text a line. */
export interface SourceFile {
  about: SourceFileAbout;
  bytes: Buffer;
  /** True when there was more than one answer may hold. */
  isCut: boolean;
}

/** Limit of concurrent requests to a source: each is a process or more on a machine with other work. */
const REQUESTS_AT_ONCE = 4;

/** Shape only: the API checks permission beforehand, and the gate afterwards. */
const argument = z.union([z.string(), z.strictObject({ glob: z.string() })]);
const stage = z.strictObject({
  argv: z.tuple([z.string()], argument),
  stdin: z.enum(['pipe', 'null']),
  stderr: z.enum(['inherit', 'null', 'stdout']),
});
const pipeline = z.strictObject({ when: z.enum(['always', 'success', 'failure']), stages: z.array(stage).min(1) });
const { timeoutSeconds, maxOutputBytes } = LIMITS.sourceCommand;
const runRequest = z.strictObject({
  pipelines: z.array(pipeline).min(1),
  timeoutSeconds: z.int().min(timeoutSeconds.min).max(timeoutSeconds.max),
  maxOutputBytes: z.int().min(0).max(maxOutputBytes),
});

/** Reads from the sources of this host, for its relay: bounded in number, time and bytes. */
export class SourceRelay {
  readonly #running = new ReferenceCounts();

  constructor(private readonly deps: SourceRelayDeps) {}

  /**
   * @param request not yet validated @throws MayflyError invalid_request, source_not_prepared, readonly_refused,
   * too_many_requests, guest_unreachable, guest_failed, host_key_mismatch
   */
  async run(name: string, request: unknown, signal: AbortSignal): Promise<SourceCommandResult> {
    const parsed = runRequest.safeParse(request);
    if (!parsed.success) throw new MayflyError('invalid_request', 'That is not a parsed command.');
    const began = performance.now();
    const { end, stdout, stderr } = await this.#ask(name, parsed.data, signal);
    if (end.refusal)
      throw new MayflyError('readonly_refused', `The gate on the source refuses it: ${end.refusal.reason}.`);
    return {
      exitCode: end.exitCode,
      signal: end.signal,
      timedOut: end.outcome === 'timed-out',
      stdout: outputOf(stdout, end.stdout),
      stderr: outputOf(stderr, end.stderr),
      durationMs: Math.round(performance.now() - began),
    };
  }

  /**
   * @param file `path` in base64url; at most `length` bytes from `offset` on
   * @throws MayflyError as {@link run}, and file_not_found, file_forbidden, file_conflict
   */
  async file(
    name: string,
    file: { path: string; offset: number; length: number },
    signal: AbortSignal,
  ): Promise<SourceFile> {
    const { end, stdout } = await this.#ask(name, { file }, signal);
    if (end.error) throw new MayflyError(end.error.code, end.error.message);
    if (end.refusal)
      throw new MayflyError('file_forbidden', `The gate on the source refuses it: ${end.refusal.reason}.`);
    if (!end.file) throw new MayflyError('guest_failed', 'The gate on the source does not say what is at that path.');
    return { about: end.file, bytes: stdout, isCut: end.stdout.kept < end.stdout.bytes };
  }

  async #ask(name: string, request: GateRequest, signal: AbortSignal): Promise<GateAnswer> {
    const { hostId, store, sourceReads, certify } = this.deps;
    const id = deriveSourceId(hostId, name);
    const record = await store.sources.get(id);
    if (record?.state !== 'prepared' || !record.sshd) {
      throw new MayflyError('source_not_prepared', `The source ${JSON.stringify(name)} is not prepared on ${hostId}.`);
    }
    const { sshd } = record;
    return this.#withLimit(id, () =>
      sourceReads
        .ask({ id, name, sshd, certify: (publicKey) => certify(id, publicKey) }, request, signal)
        .catch(throwKeyLost),
    );
  }

  async #withLimit<T>(id: string, read: () => Promise<T>): Promise<T> {
    if (this.#running.count(id) >= REQUESTS_AT_ONCE) {
      throw new MayflyError('too_many_requests', `${REQUESTS_AT_ONCE} requests to this source are under way.`, {
        retryAfterSeconds: 1,
      });
    }
    this.#running.acquire(id);
    try {
      return await read();
    } finally {
      this.#running.release(id);
    }
  }
}

/** Converts a refused key. Only a prepare may register a new key: else any host could get one for another's source. */
function throwKeyLost(error: unknown): never {
  if (!isMayflyError(error, 'public_key_refused')) throw error;
  throw new MayflyError('source_not_prepared', 'Its host has lost the key to it. Prepare it again.', { cause: error });
}

function outputOf(bytes: Buffer, { bytes: written, kept }: { bytes: number; kept: number }): SourceOutput {
  const truncated = written > kept;
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), base64: null, truncated };
  } catch {
    return { text: null, base64: bytes.toString('base64'), truncated }; // not UTF-8
  }
}
