import { filePathInUrl } from '../../model/files/file-path.ts';
import type { CallOptions } from './http/deadline.ts';
import type { FileEntry, SourceTask } from './http/openapi.ts';
import { type Page, Resource } from './http/resource.ts';
import type { GuestPath } from './sandbox/files.ts';

/** Content of a file of a source, to be read to its end or cancelled, or the entries of a directory. */
type SourceFile = { kind: 'file'; body: ReadableStream<Uint8Array> } | { kind: 'directory'; items: FileEntry[] };

/** Sources: golden VMs, baked snapshots, and their read-only commands and files. */
export class Sources extends Resource {
  readonly get = this.ask('GET /v1/sources/{name}');
  /** Bakes a snapshot into a source. Returns the record: `ready`, or `baking` when the wait ended first. */
  readonly bake = this.send('POST /v1/sources');
  /** Deletes a baked source. Returns the record: `deleted`, or `deleting` when the wait ended first. */
  readonly delete = this.ask('DELETE /v1/sources/{name}');
  /** Starts a source that is shut off. `running`, or `starting` when the wait ended first. */
  readonly start = this.send('POST /v1/sources/{name}/start');
  /** Shuts a source down. `shut_off`, or `stopping` when the wait ended first. */
  readonly stop = this.send('POST /v1/sources/{name}/stop');
  /** Returns the record: `prepared`, or an earlier state when the wait ended first. */
  readonly prepare = this.send('POST /v1/sources/{name}/prepare');
  /** Returns the record: `unprepared`, or an earlier state when the wait ended first. */
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
