import type { Readable } from 'node:stream';
import type { AgentSession } from '../../host/guest/agent-session.ts';
import { MayflyError } from '../../model/errors.ts';

/** Limits of a listed folder: entries, and bytes. */
const MOST_ENTRIES = 1_000;
const LISTING_BYTES = 1_048_576;

/** File at a path of a guest; symbolic links are not followed. */
interface Found {
  type: string;
  size: number;
}

/** Client of a guest whose answers are untrusted in size and content. */
export class GuestRequests {
  constructor(
    private readonly agent: Pick<AgentSession, 'request'>,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Unpacks an archive into a folder, which it creates.
   * @param user its owner; null: the login user
   * @throws MayflyError guest_failed, guest_disk_full
   */
  async putTar(folder: string, archive: Uint8Array, user: string | null): Promise<void> {
    const owner = user === null ? '' : `&user=${encodeURIComponent(user)}`;
    const path = `/v1/tar?path=${encodePath(folder)}&parents=true${owner}`;
    const headers = { 'content-type': 'application/x-tar' };
    const answer = await this.agent.request({ method: 'PUT', path, headers, body: archive, signal: this.signal });
    answer.body.resume();
    if (answer.status < 300) return;
    if (answer.status === 507)
      throw new MayflyError('guest_disk_full', 'The guest has no room for its event and files.');
    const why = answer.status === 400 && user !== null ? `: it may have no user ${JSON.stringify(user)}` : '';
    throw new MayflyError('guest_failed', `The guest answered ${answer.status} to its event and files${why}.`);
  }

  /** Inspects a path; null: it does not exist. */
  async look(path: string): Promise<Found | null> {
    const asked = { method: 'HEAD', path: `/v1/files?path=${encodePath(path)}`, signal: this.signal } as const;
    const { status, headers, body } = await this.agent.request(asked);
    body.resume();
    if (status === 404) return null;
    if (status !== 200) throw new MayflyError('guest_failed', `The guest answered ${status} to a look at ${path}.`);
    const type = String(headers['x-mayfly-type'] ?? '');
    return { type: /^[a-z-]{1,16}$/.test(type) ? type : 'unknown', size: Number(headers['content-length'] ?? 0) };
  }

  /** Returns the first bytes of a file. */
  async read(path: string, maxBytes: number): Promise<Buffer> {
    const body = await this.#stream(`/v1/files?path=${encodePath(path)}`);
    const pieces: Buffer[] = [];
    let left = maxBytes;
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece.subarray(0, left));
      left -= piece.length;
      if (left <= 0) break; // destroys the body
    }
    return Buffer.concat(pieces);
  }

  /** Lists the regular files of a folder, in order, not recursively. @throws MayflyError guest_failed */
  async files(folder: string): Promise<string[]> {
    const body = await this.#stream(`/v1/directory?path=${encodePath(folder)}&limit=${MOST_ENTRIES}`);
    const pieces: Buffer[] = [];
    let left = LISTING_BYTES;
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece);
      left -= piece.length;
      if (left <= 0) break; // destroys the body
    }
    const lines = Buffer.concat(pieces).toString().split('\n');
    return lines.slice(0, -1).flatMap(fileOf);
  }

  /** Streams a folder as an archive, which the caller reads to its end or destroys. */
  tar(folder: string): Promise<Readable> {
    return this.#stream(`/v1/tar?path=${encodePath(folder)}`);
  }

  async #stream(path: string): Promise<Readable> {
    const { status, body } = await this.agent.request({ method: 'GET', path, signal: this.signal });
    if (status === 200) return body;
    body.destroy();
    throw new MayflyError('guest_failed', `The guest answered ${status} when its result was fetched.`);
  }
}

/** Parses one line of a listing; empty for other entries. */
function fileOf(line: string): string[] {
  try {
    const { name, type } = JSON.parse(line) as { name?: unknown; type?: unknown };
    return typeof name === 'string' && type === 'file' ? [name] : [];
  } catch {
    return [];
  }
}

function encodePath(path: string): string {
  return Buffer.from(path).toString('base64url');
}
