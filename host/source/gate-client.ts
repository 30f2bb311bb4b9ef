import type { ClientChannel } from 'ssh2';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import type { ReadonlyCommand } from '../../model/readonly/command.ts';
import { commandOutcome } from '../../model/sandbox/command.ts';
import { FRAME_HEADER_BYTES, FRAME_MAX_BYTES } from '../../model/sandbox/output-frame.ts';
import { toPrintable } from '../console.ts';
import { withTimeout } from '../os/abort.ts';
import type { CertClient } from '../ssh/cert-client.ts';

interface RunRequest extends ReadonlyCommand {
  timeoutSeconds: number;
  /** Per stream. */
  maxOutputBytes: number;
}

interface FileRequest {
  file: {
    /** Raw bytes in base64url: absolute. */
    path: string;
    offset: number;
    /** Limit in bytes. */
    length: number;
  };
}

export type GateRequest = RunRequest | FileRequest;

/** Bytes that a stream may bring beyond the requested limit, before the gate counts as broken. */
const SLACK_BYTES = 65_536;
/** Limits of a directory listing, and of the complaint of sshd or a broken gate. Bytes. */
const LISTING_BYTES = 8 * 1024 * 1024;
const COMPLAINT_BYTES = 2_048;
/** Initial size of a stream's buffer. */
const LEAST_BYTES = 4_096;
/** Extra time beyond the command's timeout, which the gate enforces itself. Milliseconds. */
const ANSWER_WITHIN_MS = 15_000;
const FILE_TIMEOUT_MS = 60_000;

const Summary = z.object({ bytes: z.int().min(0), kept: z.int().min(0) });
const Name = z.string().max(256).nullable().catch(null);
const Refused = z.object({ reason: z.string().max(4_096) });
const FileAbout = z.object({
  type: z.string().regex(/^[a-z]{1,16}$/),
  size: z.int().min(0),
  mode: z.string().regex(/^[0-7]{4}$/),
  uid: z.int().min(0),
  gid: z.int().min(0),
  user: Name,
  group: Name,
  mtimeMs: z.int().min(-8.64e15).max(8.64e15),
});
export type SourceFileAbout = z.infer<typeof FileAbout>;

/** End frame: untrusted, like all that comes from a source. */
const End = z.object({
  outcome: commandOutcome,
  exitCode: z.int().min(0).max(255).nullable(),
  signal: z
    .string()
    .regex(/^SIG[A-Z0-9+]{1,16}$/)
    .nullable(),
  stdout: Summary,
  stderr: Summary,
  reason: z.string().max(4_096).nullish(),
  refusal: Refused.nullish(),
  error: z
    .object({ code: z.enum(['file_not_found', 'file_forbidden', 'file_conflict']), message: z.string() })
    .nullish(),
  file: FileAbout.nullish(),
});

export interface GateAnswer {
  end: z.infer<typeof End>;
  stdout: Buffer;
  stderr: Buffer;
}

/** Sends one request on its own channel, and reads the whole, bounded answer. @throws MayflyError guest_failed */
export async function askGate(client: CertClient, request: GateRequest, signal: AbortSignal): Promise<GateAnswer> {
  signal.throwIfAborted();
  const bound = 'file' in request ? Math.max(request.file.length, LISTING_BYTES) : request.maxOutputBytes;
  const timeoutMs = 'file' in request ? FILE_TIMEOUT_MS : request.timeoutSeconds * 1_000 + ANSWER_WITHIN_MS;
  const channel = await open(client);
  const late = () => gateFailed(`it gave no end within ${timeoutMs / 1000} s`);
  try {
    channel.end(JSON.stringify(request));
    return await withTimeout(timeoutMs, late, signal, (either) => read(channel, bound + SLACK_BYTES, either));
  } finally {
    channel.destroy();
  }
}

/** Opens a channel. The command's text is irrelevant: sshd is forced to run the gate. */
function open(client: CertClient): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec('gate', (error, channel) => {
      if (error)
        reject(new MayflyError('guest_unreachable', `Its sshd opens no session: ${toPrintable(error.message)}`));
      else resolve(channel);
    });
  });
}

function read(channel: ClientChannel, bound: number, signal: AbortSignal): Promise<GateAnswer> {
  return new Promise((resolve, reject) => {
    const frames = new FrameReader(bound);
    let complaint = '';
    const fail = (error: unknown) => reject(error instanceof Error ? error : new Error(String(error)));
    signal.addEventListener('abort', () => fail(signal.reason), { once: true });
    channel.stderr.on('data', (bytes: Buffer) => {
      complaint = (complaint + bytes.toString('latin1')).slice(0, COMPLAINT_BYTES);
    });
    channel.on('data', (bytes: Buffer) => {
      try {
        frames.push(bytes);
      } catch (error) {
        fail(error);
        channel.destroy();
      }
    });
    channel.on('error', fail);
    channel.on('close', () => {
      try {
        resolve(frames.answer(toPrintable(complaint)));
      } catch (error) {
        fail(error);
      }
    });
  });
}

/** Reassembles frames; see model/sandbox/output-frame.ts. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #end: Buffer | null = null;
  /** Growing buffers, not lists of pieces: a hostile gate may send one byte a frame, or none. */
  readonly #streams = { 1: Buffer.alloc(0), 2: Buffer.alloc(0) };
  readonly #bytes = { 1: 0, 2: 0 };

  /** @param bound of each stream, bytes */
  constructor(private readonly bound: number) {}

  /** @throws MayflyError guest_failed when no gate would send that */
  push(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= FRAME_HEADER_BYTES) {
      const length = this.#rest.readUInt32BE(17);
      if (length > FRAME_MAX_BYTES) throw gateFailed('a frame of it is too long');
      if (this.#rest.length < FRAME_HEADER_BYTES + length) return;
      const stream = this.#rest.readUInt8(0);
      const offset = Number(this.#rest.readBigUInt64BE(9));
      this.#take(stream, offset, this.#rest.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + length));
      this.#rest = this.#rest.subarray(FRAME_HEADER_BYTES + length);
    }
  }

  /** @param complaint its text without an answer */
  answer(complaint: string): GateAnswer {
    if (this.#end === null) throw gateFailed(`it ended without an answer${complaint ? `: ${complaint}` : ''}`);
    return {
      end: parseEnd(this.#end),
      stdout: this.#streams[1].subarray(0, this.#bytes[1]),
      stderr: this.#streams[2].subarray(0, this.#bytes[2]),
    };
  }

  #take(stream: number, offset: number, bytes: Buffer): void {
    if (this.#end !== null) throw gateFailed('it goes on after its end');
    if (stream === 0) {
      this.#end = bytes;
      return;
    }
    if (stream !== 1 && stream !== 2) throw gateFailed('it speaks of a stream that does not exist');
    // A file's offsets may count from its beginning, so only their order is checked.
    if (offset < this.#bytes[stream]) throw gateFailed('its output goes back');
    const before = this.#bytes[stream];
    const after = before + bytes.length;
    if (after > this.bound) throw gateFailed('it sends more than was asked for');
    if (after > this.#streams[stream].length) {
      const grown = Buffer.alloc(Math.min(this.bound, Math.max(after, 2 * before, LEAST_BYTES)));
      this.#streams[stream].copy(grown, 0, 0, before);
      this.#streams[stream] = grown;
    }
    this.#streams[stream].set(bytes, before);
    this.#bytes[stream] = after;
  }
}

function parseEnd(bytes: Buffer): GateAnswer['end'] {
  try {
    return End.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw new MayflyError('guest_failed', 'The gate on the source says no end that makes sense.', { cause });
  }
}

function gateFailed(why: string): MayflyError {
  return new MayflyError(
    'guest_failed',
    `The gate on the source is broken or tampered with: ${why}. Prepare it again.`,
  );
}
