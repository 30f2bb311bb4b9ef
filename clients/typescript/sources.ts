import { filePathInUrl } from '../../model/files/file-path.ts';
import type { CallOptions } from './http/deadline.ts';
import type { FileEntry, SourceTask } from './http/openapi.ts';
import { MayflyApiError } from './http/problem.ts';
import { type Page, Resource } from './http/resource.ts';
import type { GuestPath } from './sandbox/files.ts';

/** Content of a file of a source, to be read to its end or cancelled, or the entries of a directory. */
type SourceFile = { kind: 'file'; body: ReadableStream<Uint8Array> } | { kind: 'directory'; items: FileEntry[] };

/** Sources: golden VMs, baked snapshots, and their read-only commands and files. */
export class Sources extends Resource {
  readonly get = this.ask('GET /v1/sources/{name}');
  /** Makes a source of a snapshot. Returns the record: `ready`, or `baking` when the wait was over first. */
  readonly bake = this.send('POST /v1/sources');
  /** Deletes a source that was made of a snapshot. Returns the record: `deleted`, or `deleting` when the wait was over first. */
  readonly delete = this.ask('DELETE /v1/sources/{name}');
  /** Starts a source that is shut off. `running`, or `starting` when the wait was over first. */
  readonly start = this.send('POST /v1/sources/{name}/start');
  /** Shuts a source down. `shut_off`, or `stopping` when the wait was over first. */
  readonly stop = this.send('POST /v1/sources/{name}/stop');
  /** Returns the record: `prepared`, or an earlier state when the wait was over first. */
  readonly prepare = this.send('POST /v1/sources/{name}/prepare');
  /** Returns the record: `unprepared`, or an earlier state when the wait was over first. */
  readonly unprepare = this.send('POST /v1/sources/{name}/unprepare');
  readonly run = this.send('POST /v1/sources/{name}/commands');

  async read(name: string, path: GuestPath, { hostId, signal }: SourceTask & CallOptions = {}): Promise<SourceFile> {
    const target = `/v1/sources/${encodeURIComponent(name)}/files/${filePathInUrl(Buffer.from(path as string))}`;
    const response = await this.transport.open({ method: 'GET', path: target, query: { hostId } }, signal);
    if (response.headers.get('content-type') === 'application/json') {
      const { items } = (await response.json()) as Page<FileEntry>;
      return { kind: 'directory', items };
    }
    return { kind: 'file', body: response.body ?? new ReadableStream({ start: (controller) => controller.close() }) };
  }
}

/** Copies of running sources. */
export class Captures extends Resource {
  /** Returns the record: `ready`, or `creating` when the wait was over first. */
  readonly take = this.send('POST /v1/sources/{name}/captures');
  /** Newest first, of all hosts. */
  readonly list = this.ask('GET /v1/sources/{name}/captures');
  readonly get = this.ask('GET /v1/captures/{id}');
  /** Returns the record: `deleted`, or `deleting` when the wait was over first. */
  readonly delete = this.ask('DELETE /v1/captures/{id}');
}

/** Guests saved with their memory, which sandboxes wake from. */
export class Templates extends Resource {
  /** Returns when it has started, or exists: `building`, `verifying` or `ready`. */
  readonly make = this.send('POST /v1/templates');
  /** Those that are not gone, newest first. */
  readonly list = this.ask('GET /v1/templates');
  readonly get = this.ask('GET /v1/templates/{id}');
  /** Returns the record: `gone`, or an earlier state when the wait was over first. */
  readonly delete = this.ask('DELETE /v1/templates/{id}');
}

/** Sources that are built from Dockerfiles. */
export class Images extends Resource {
  /** Returns when the build has started, or the same build is under way. */
  readonly build = this.send('POST /v1/images');
  /** Newest first. */
  readonly list = this.ask('GET /v1/images');
  readonly get = this.ask('GET /v1/images/{id}');
  /** Returns when Temporal has the request. */
  readonly cancel = this.ask('POST /v1/images/{id}/cancel');
  readonly #context = this.ask('GET /v1/image-contexts/{digest}');

  /** Returns whether a context is stored, and renews its retention. @param digest SHA-256 of the archive, hexadecimal */
  async hasContext(digest: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.#context(digest, options);
      return true;
    } catch (error) {
      if (error instanceof MayflyApiError && error.code === 'context_not_found') return false;
      throw error;
    }
  }

  /** Sends what is too large for the `context` of {@link Images.build}: a tar archive of at most 2 GiB. Sent once: it is a stream. */
  async sendContext(digest: string, archive: ReadableStream<Uint8Array>, options: CallOptions = {}): Promise<void> {
    const headers = { 'content-type': 'application/x-tar' };
    const path = `/v1/image-contexts/${encodeURIComponent(digest)}`;
    await this.transport.jsonOnce({ method: 'PUT', path, headers, stream: archive }, options);
  }
}
