import { filePathInUrl } from '../../../model/files/file-path.ts';
import type { CallOptions } from '../http/deadline.ts';
import type { FileEntry } from '../http/openapi.ts';
import { MayflyApiError } from '../http/problem.ts';
import { type Page, type PageOptions, Resource, sandboxPath } from '../http/resource.ts';

/** Absolute path in a guest; as bytes when it is not UTF-8. */
export type GuestPath = string | Uint8Array;

type FileType = FileEntry['type'];

/** Facts about a file in the headers of an answer. */
interface FileHead {
  type: FileType;
  /** Bytes of the content, or of the requested range; null when unknown in advance. */
  size: number | null;
  /** Permission bits in octal, four digits. */
  mode: string;
  etag: string | null;
}

/** Archive, or content of a file, to be read to its end or cancelled. */
export interface FileContent extends FileHead {
  body: ReadableStream<Uint8Array>;
  /** Offset of the content in the file, bytes; 0 for files without a size, those of /proc, for any requested range. */
  first: number;
  /** Bytes of the whole file; null when unknown in advance. */
  total: number | null;
}

interface OwnerOptions {
  /** Owner by name or number. `@default` for new files: the login user */
  user?: string;
  group?: string;
  /** Creates missing parent directories. `@default` false */
  parents?: boolean;
}

export interface WriteOptions extends CallOptions, OwnerOptions {
  /** Permission bits in octal. `@default` those of the replaced file, else 0644 */
  mode?: string;
}

interface UnpackOptions extends CallOptions, OwnerOptions {
  /** Keeps the owners in the archive, by number. `@default` false */
  keepOwners?: boolean;
}

export type Content = Uint8Array | ReadableStream<Uint8Array>;

const BYTES = 'application/octet-stream';
const TAR = 'application/x-tar';
/** RFC 9110 §14.4. */
const CONTENT_RANGE = /^bytes (\d+)-\d+\/(\d+)$/;

/** Files in sandboxes. Transfers of content are never retried. */
export class Files extends Resource {
  /** Returns facts about a path; for a symbolic link, about the link itself. */
  async stat(sandboxId: string, path: GuestPath, options: CallOptions = {}): Promise<FileHead> {
    const request = { method: 'HEAD', path: pathOf(sandboxId, path) } as const;
    return headOf(await this.transport.repeated(options, (signal) => this.transport.open(request, signal)));
  }

  /** @param options `first`, `last`: a range of bytes, both included */
  async read(
    sandboxId: string,
    path: GuestPath,
    options: CallOptions & { first?: number; last?: number } = {},
  ): Promise<FileContent> {
    const { first, last, signal } = options;
    const range = first === undefined && last === undefined ? {} : { range: `bytes=${first ?? 0}-${last ?? ''}` };
    const request = { method: 'GET', path: pathOf(sandboxId, path), headers: { accept: BYTES, ...range } } as const;
    const response = await this.transport.open(request, signal);
    if (response.headers.get('content-type') === BYTES) return contentOf(response);
    await response.body?.cancel();
    const title = 'Something else is at that path';
    throw new MayflyApiError({ title, status: 409, code: 'file_conflict', retryable: false, detail: 'a directory' });
  }

  /** Returns one page of a directory, by name. */
  list(sandboxId: string, path: GuestPath, options: PageOptions = {}): Promise<Page<FileEntry>> {
    const query = { limit: options.limit ?? 1_000, cursor: options.cursor };
    return this.transport.json({ method: 'GET', path: pathOf(sandboxId, path), query }, options);
  }

  /** Replaces or creates a file, with all of the content at once. */
  write(sandboxId: string, path: GuestPath, content: Content, options: WriteOptions = {}): Promise<FileEntry> {
    const { mode, signal } = options;
    const query = { mode, ...ownerQuery(options) };
    return this.#put(pathOf(sandboxId, path), query, BYTES, content, signal);
  }

  /** Removes a file, a link, or a directory; one with content only when `recursive`. */
  async remove(sandboxId: string, path: GuestPath, options: CallOptions & { recursive?: boolean } = {}): Promise<void> {
    const query = options.recursive ? { recursive: 'true' } : {};
    await this.transport.jsonOnce({ method: 'DELETE', path: pathOf(sandboxId, path), query }, options);
  }

  /** Returns a whole directory as a tar archive. */
  async readArchive(sandboxId: string, path: GuestPath, options: CallOptions = {}): Promise<FileContent> {
    const request = { method: 'GET', path: pathOf(sandboxId, path), query: { format: 'tar' } } as const;
    return contentOf(await this.transport.open(request, options.signal));
  }

  /** Unpacks a tar archive into a directory. */
  writeArchive(
    sandboxId: string,
    path: GuestPath,
    archive: Content,
    options: UnpackOptions = {},
  ): Promise<{ entries: number; bytes: number }> {
    const { keepOwners, signal } = options;
    const query = { ...ownerQuery(options), ...(keepOwners && { keepOwners: 'true' }) };
    return this.#put(pathOf(sandboxId, path), query, TAR, archive, signal);
  }

  #put<T>(
    path: string,
    query: Record<string, string | undefined>,
    type: string,
    content: Content,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const body = content instanceof Uint8Array ? { bytes: content } : { stream: content };
    const request = { method: 'PUT', path, query, headers: { 'content-type': type }, ...body } as const;
    return this.transport.jsonOnce(request, signal ? { signal } : {});
  }
}

function pathOf(sandboxId: string, path: GuestPath): string {
  const bytes = typeof path === 'string' ? new TextEncoder().encode(path) : path;
  if (bytes[0] !== 0x2f) throw new TypeError('a path in a guest must be absolute');
  return `${sandboxPath(sandboxId)}/files/${filePathInUrl(bytes)}`;
}

function ownerQuery({ user, group, parents }: OwnerOptions): Record<string, string | undefined> {
  return { user, group, ...(parents && { parents: 'true' }) };
}

function headOf({ headers }: Response): FileHead {
  const size = headers.get('content-length');
  return {
    type: (headers.get('x-mayfly-type') ?? 'file') as FileType,
    size: size === null ? null : Number(size),
    mode: headers.get('x-mayfly-mode') ?? '0644',
    etag: headers.get('etag'),
  };
}

function contentOf(response: Response): FileContent {
  const body = response.body ?? new ReadableStream({ start: (controller) => controller.close() });
  const head = headOf(response);
  const [, first = 0, total = head.size] = CONTENT_RANGE.exec(response.headers.get('content-range') ?? '') ?? [];
  return { ...head, body, first: Number(first), total: total === null ? null : Number(total) };
}
