import { createHash } from 'node:crypto';
import { BuildContext, type ContextEntry } from '../../model/dockerfile/context.ts';
import { NO_SETTINGS } from '../../model/dockerfile/plan.ts';
import { listRootPaths, type RootPath } from '../../model/dockerfile/read-dockerfile.ts';
import { unsupportedAt } from '../../model/dockerfile/refusal.ts';
import type { RootImage } from '../../model/dockerfile/root-image.ts';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { ImageRequest } from '../../model/image/image.ts';
import { ContextReader } from '../../model/image/sent-context.ts';
import { TarScanner } from '../../model/image/tar-scanner.ts';
import { bytesOf, LAYOUT_NAMES, ociImage, type ReadContext } from './oci-image.ts';

const GZIP = [0x1f, 0x8b];
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd];

/**
 * Returns the root file systems that a Dockerfile begins at: a tar archive, plain or gzipped, or an OCI layout as a
 * folder or an uncompressed archive. Checks every blob of a layout against its digest; unpacks nothing.
 * @throws MayflyError dockerfile_unsupported with the line of FROM
 */
export async function rootsOf(request: ImageRequest, read: ReadContext): Promise<RootImage[]> {
  const paths = listRootPaths(request);
  if (paths.length === 0) return [];
  const [first] = paths;
  const { context } = request;
  if (!context) throw unsupportedAt(first?.line ?? 1, 'there is no context with a root file system');
  const all = new BuildContext(context.entries, context.dockerignore);
  const found: RootImage[] = [];
  for (const path of paths) found.push(await rootOf(path, all, read));
  return found;
}

async function rootOf({ path, line }: RootPath, context: BuildContext, read: ReadContext): Promise<RootImage> {
  const there = context.at(path, line);
  if (Array.isArray(there)) return { path, ...(await ociImage(filesOf(there), read, line)) };
  const head = await bytesOf(read, there, 4);
  if (ZSTD.every((byte, n) => head[n] === byte)) {
    throw unsupportedAt(line, `${JSON.stringify(path)} is compressed with zstd: use gzip, or nothing`);
  }
  const isPlain = !GZIP.every((byte, n) => head[n] === byte);
  if (isPlain && LAYOUT_NAMES.includes(await firstName(there, read))) {
    return { path, ...(await ociImage(await entriesOf(there, read, line), read, line)) };
  }
  return { path, layers: [{ entry: there, diffId: null }], settings: NO_SETTINGS };
}

function filesOf(entries: readonly { as: string; entry: ContextEntry }[]): Map<string, ContextEntry> {
  return new Map(entries.map(({ as, entry }) => [as, entry]));
}

/** Returns the first name of an archive, '' if it is none; it distinguishes an OCI layout from a root file system. */
async function firstName({ at = 0, size }: ContextEntry, read: ReadContext): Promise<string> {
  let name = '';
  const scanner = new TarScanner({
    entry: ({ path }) => {
      name ||= path.split('/').find((part) => part !== '' && part !== '.') ?? '';
    },
    content: () => undefined,
  });
  try {
    for await (const piece of read(at, size)) {
      scanner.push(piece.subarray(0, 65_536));
      return name;
    }
  } catch (error) {
    if (!(error instanceof MayflyError)) throw error; // such as a device: no layout has one
  }
  return name;
}

/** Returns the entries of an archive in the context by path, with their positions in the context. */
async function entriesOf(archive: ContextEntry, read: ReadContext, line: number): Promise<Map<string, ContextEntry>> {
  const { at = 0, size, path } = archive;
  const reader = new ContextReader(() => {
    const hash = createHash('sha256');
    return { update: (bytes) => hash.update(bytes), hex: () => hash.digest('hex') };
  });
  try {
    for await (const piece of read(at, size)) reader.push(piece);
    const { entries } = reader.end();
    return new Map(entries.map((entry) => [entry.path, { ...entry, at: at + (entry.at ?? 0) }]));
  } catch (error) {
    if (!isMayflyError(error, 'invalid_request')) throw error;
    throw unsupportedAt(
      line,
      `the OCI layout ${JSON.stringify(path)}: ${error.options.fields?.[0]?.problem ?? error.message}`,
    );
  }
}
