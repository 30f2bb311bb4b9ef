import { percentEncode } from '../../model/files/file-path.ts';
import type { CallOptions } from './http/deadline.ts';
import type { Diff, DiffLine, FileDiff } from './http/openapi.ts';
import { MayflyApiError, MayflyConnectionError, problemFrom } from './http/problem.ts';
import { Resource } from './http/resource.ts';
import type { GuestPath } from './sandbox/files.ts';

interface DiffOptions extends CallOptions {
  /** Files and folders to compare, with everything below them. `@default` everything */
  paths?: GuestPath[];
}

/** Limit that no line reaches, characters. */
const MAX_LINE = 8 * 1_024 * 1_024;

/** Changes between two snapshots, `a` to `b`; `b` may be `current`. Never retried. */
export class Diffs extends Resource {
  /** Returns counts, and the first changes. @param options `limit`: 1 to 10,000 changes, `@default` 1,000 */
  list(a: string, b: string, options: DiffOptions & { limit?: number } = {}): Promise<Diff> {
    const { limit } = options;
    return this.transport.jsonOnce({ method: 'GET', path: pathOf(a, b, { path: options.paths, limit }) }, options);
  }

  /**
   * Yields every change as it is found.
   * @throws MayflyApiError also after any number of lines, which are then incomplete
   */
  async *follow(
    a: string,
    b: string,
    options: DiffOptions = {},
  ): AsyncGenerator<Exclude<DiffLine, { line: 'error' }>, void, undefined> {
    const path = pathOf(a, b, { path: options.paths, format: 'ndjson' });
    const response = await this.transport.open({ method: 'GET', path }, options.signal);
    let last: DiffLine['line'] | null = null;
    for await (const text of this.#linesOf(response, options.signal)) {
      const line = JSON.parse(text) as DiffLine;
      if (line.line === 'error')
        throw new MayflyApiError(problemFrom(line.problem.status, JSON.stringify(line.problem)));
      last = line.line;
      yield line;
    }
    if (last !== 'end') throw new MayflyConnectionError(this.transport.baseUrl, new Error('the answer ended early'));
  }

  /** Returns the text of one regular file, in both snapshots. */
  file(a: string, b: string, file: GuestPath, options: CallOptions = {}): Promise<FileDiff> {
    return this.transport.jsonOnce({ method: 'GET', path: pathOf(a, b, { file: [file] }) }, options);
  }

  /**
   * Yields a tar archive of added and changed files, with removed names as whiteouts.
   * @throws MayflyConnectionError also in the middle of the archive
   */
  async *tar(a: string, b: string, options: DiffOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const path = pathOf(a, b, { path: options.paths, format: 'tar' });
    yield* this.#piecesOf(await this.transport.open({ method: 'GET', path }, options.signal), options.signal);
  }

  async *#linesOf(response: Response, signal: AbortSignal | undefined): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const piece of this.#piecesOf(response, signal)) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE) throw new RangeError('The API sent a line without an end.');
      yield* lines;
    }
  }

  async *#piecesOf({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const piece of body ?? []) yield piece;
    } catch (error) {
      signal?.throwIfAborted();
      throw new MayflyConnectionError(this.transport.baseUrl, error);
    }
  }
}

/** Builds the path by hand: URLSearchParams would lose bytes that are not UTF-8. */
function pathOf(a: string, b: string, query: Record<string, GuestPath[] | string | number | undefined>): string {
  const encoded = Object.entries(query).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [String(value)];
    return values.map((one) => `${name}=${percentEncode(typeof one === 'string' ? Buffer.from(one) : one)}`);
  });
  const question = encoded.length > 0 ? `?${encoded.join('&')}` : '';
  return `/v1/snapshots/${encodeURIComponent(a)}/diff/${encodeURIComponent(b)}${question}`;
}
