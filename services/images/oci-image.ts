import { z } from 'zod';
import type { ContextEntry } from '../../model/dockerfile/context.ts';
import { resolvePath } from '../../model/dockerfile/patterns/paths.ts';
import { NO_SETTINGS, type Settings } from '../../model/dockerfile/plan.ts';
import { unsupportedAt } from '../../model/dockerfile/refusal.ts';
import { PLATFORM, type RootImage } from '../../model/dockerfile/root-image.ts';
import { isUser } from '../../model/dockerfile/user.ts';
import { MayflyError } from '../../model/errors.ts';
import { type ContextDescription, describeContext } from '../../model/image/sent-context.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ServiceDeps } from '../service-deps.ts';

const text = z.string().regex(/^[^\0]*$/, 'has a NUL');
const words = z.array(text).max(1_000).nullish();
const variable = text.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}=/, 'is no NAME=value');
const path = z.string().regex(/^[^\p{Cc}]*$/u, 'has a control character');

const Config = z.object({
  Env: z.array(variable.max(LIMITS.command.maxVariableBytes)).max(LIMITS.image.args).nullish(),
  WorkingDir: path.max(4_096).nullish(),
  User: z.string().max(256).nullish(),
  Cmd: words,
  Entrypoint: words,
  Labels: z.record(text, text).nullish(),
  ExposedPorts: z.record(z.string().regex(/^\d{1,5}(?:-\d{1,5})?\/(?:tcp|udp)$/, 'is no port'), z.unknown()).nullish(),
});

/** Image configuration; unlisted fields are ignored. */
const OciConfig = z.object({
  architecture: z.string(),
  os: z.string(),
  config: Config.nullish(),
  rootfs: z.object({ diff_ids: z.array(z.string().regex(/^sha256:[0-9a-f]{64}$/, 'is no SHA-256')) }),
});

/** Returns the settings of an image, as a Dockerfile inherits them. @throws MayflyError dockerfile_unsupported */
function imageSettings(config: z.infer<typeof Config>, line: number): Settings {
  const { Env, WorkingDir, User, Cmd, Entrypoint, Labels, ExposedPorts } = config;
  const variables = (Env ?? []).map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]);
  return {
    env: { ...NO_SETTINGS.env, ...Object.fromEntries(variables) },
    workdir: WorkingDir ? resolvePath(WorkingDir, '/') : '/',
    user: userOf(User || 'root', line),
    shell: NO_SETTINGS.shell,
    labels: Labels ?? {},
    exposed: Object.keys(ExposedPorts ?? {}),
    cmd: Cmd ?? null,
    entrypoint: Entrypoint ?? null,
  };
}

function userOf(said: string, line: number): string {
  const user = /^(?:root|0)(?::(?:root|0))?$/.test(said) ? 'root' : said;
  if (isUser(user)) return user;
  throw unsupportedAt(line, `the image runs as ${JSON.stringify(user)}, which is no user, and no user and group`);
}

/** Top-level names of an OCI layout, or of `docker save`. */
export const LAYOUT_NAMES = ['blobs', 'index.json', 'oci-layout', 'manifest.json', 'repositories'];

/** Limit of a manifest or a configuration, bytes. */
const MOST_OF_TEXT = 4_194_304;
/** Limit of Docker. */
const MOST_LAYERS = 127;
/** Limit of nested indexes. */
const MOST_INDEXES = 4;

const Descriptor = z.object({
  mediaType: z.string().max(256).default(''),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'is no SHA-256'),
  size: z.int().min(0),
  platform: z.object({ architecture: z.string(), os: z.string() }).optional(),
});
type Descriptor = z.infer<typeof Descriptor>;
const Index = z.object({ manifests: z.array(Descriptor).min(1).max(1_000) });
const Manifest = z.object({ config: Descriptor, layers: z.array(Descriptor).min(1).max(MOST_LAYERS) });
const LAYER = /^application\/vnd\.(?:oci\.image\.layer\.v1\.tar|docker\.image\.rootfs\.diff\.tar)(?:[.+]gzip)?$/;

type Files = ReadonlyMap<string, ContextEntry>;

/**
 * Returns the image of an OCI layout for this platform: https://github.com/opencontainers/image-spec, 1.1. Compares
 * each blob with its digest, which was computed at the upload.
 * @throws MayflyError dockerfile_unsupported with the line of FROM
 */
export async function ociImage(files: Files, read: ReadContext, line: number): Promise<Omit<RootImage, 'path'>> {
  return await new Layout(files, read, line).image();
}

class Layout {
  constructor(
    private readonly files: Files,
    private readonly read: ReadContext,
    private readonly line: number,
  ) {}

  async image(): Promise<Omit<RootImage, 'path'>> {
    const index = this.files.get('index.json');
    if (!index || !this.files.has('oci-layout')) {
      const isDockers = this.files.has('manifest.json') || this.files.has('repositories');
      throw this.#unsupported(
        isDockers
          ? 'it is what an older `docker save` writes: have skopeo copy it to oci-archive:, or save it with Docker 25'
          : 'there is neither an archive nor an OCI layout (index.json, oci-layout)',
      );
    }
    const { config, layers } = await this.#json(await this.#selectManifest(index), Manifest, 'the manifest');
    const about = await this.#json(this.#blob(config), OciConfig, 'the configuration');
    const platform = `${about.os}/${about.architecture}`;
    if (platform !== PLATFORM) throw this.#unsupported(`its image is for ${platform}; this host is ${PLATFORM}`);
    const { diff_ids: diffIds } = about.rootfs;
    if (diffIds.length !== layers.length) {
      throw this.#unsupported(`its manifest has ${layers.length} layers, its configuration ${diffIds.length}`);
    }
    const found = layers.map((layer, n) => {
      if (!LAYER.test(layer.mediaType))
        throw this.#unsupported(`layers of ${JSON.stringify(layer.mediaType)} are not read`);
      return { entry: this.#blob(layer), diffId: diffIds[n] ?? '' };
    });
    return { layers: found, settings: imageSettings(about.config ?? {}, this.line) };
  }

  /** Returns the one manifest for this platform, of an index or of a nested one. */
  async #selectManifest(index: ContextEntry, depth = 0): Promise<ContextEntry> {
    const { manifests } = await this.#json(index, Index, 'the index');
    const known = manifests.filter(({ platform }) => platform?.os !== 'unknown');
    const fitting = known.filter(({ platform }) => !platform || `${platform.os}/${platform.architecture}` === PLATFORM);
    const digests = new Set(fitting.map(({ digest }) => digest));
    const [one] = fitting;
    if (!one) {
      const others = known.map(({ platform }) => `${platform?.os}/${platform?.architecture}`).slice(0, 10);
      throw this.#unsupported(`it has no image for ${PLATFORM}, but for ${others.join(', ')}`);
    }
    if (digests.size > 1) throw this.#unsupported(`it has ${digests.size} images for ${PLATFORM}: it may have one`);
    const entry = this.#blob(one);
    if (!/\.(?:index\.v1|manifest\.list\.v2)\+json$/.test(one.mediaType)) return entry;
    if (depth === MOST_INDEXES) throw this.#unsupported('its indexes name each other without end');
    return await this.#selectManifest(entry, depth + 1);
  }

  /** Returns the blob of a digest, if its digest and size match. */
  #blob({ digest, size }: Descriptor): ContextEntry {
    const hex = digest.slice('sha256:'.length);
    const entry = this.files.get(`blobs/sha256/${hex}`);
    if (entry?.type !== 'file') throw this.#unsupported(`the blob ${digest} is missing`);
    if (entry.digest !== hex) throw this.#unsupported(`the blob ${digest} is sha256:${entry.digest}`);
    if (entry.size !== size) throw this.#unsupported(`the blob ${digest} has ${entry.size} bytes, not ${size}`);
    return entry;
  }

  async #json<T>(entry: ContextEntry, schema: z.ZodType<T>, what: string): Promise<T> {
    if (entry.size > MOST_OF_TEXT) throw this.#unsupported(`${what} has more than ${MOST_OF_TEXT} bytes`);
    const text = (await bytesOf(this.read, entry, MOST_OF_TEXT)).toString('utf8');
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.#unsupported(`${what} is no JSON`);
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw this.#unsupported(`${what} is none: ${issue?.path.join('.')}: ${issue?.message}`);
  }

  #unsupported(problem: string): Error {
    return unsupportedAt(this.line, `the OCI layout is refused: ${problem}`);
  }
}

/** Reads bytes of a context from a position in its archive on. */
export type ReadContext = (from: number, length: number) => AsyncIterable<Uint8Array>;

/** Context, and a reader of its bytes. */
interface ReadableContext {
  context: ContextDescription | null;
  read: ReadContext;
}

/** Returns a context that is part of the request. @throws MayflyError invalid_request, body_too_large */
export function inlineContext(archive: Uint8Array | null): ReadableContext {
  return {
    context: archive && describeContext(archive),
    async *read(from, length) {
      if (archive) yield archive.subarray(from, from + length);
    },
  };
}

/** Returns a context that was uploaded before. @throws MayflyError context_not_found */
export async function uploadedContext(
  { sentContexts }: ServiceDeps['store'],
  digest: string,
): Promise<ReadableContext> {
  const found = await sentContexts.use(digest);
  if (found) return { context: found.context, read: (from, length) => sentContexts.read(found.id, from, length) };
  throw new MayflyError('context_not_found', `There is no context ${digest}.`);
}

/** Reads a file of a context. @param most limit of bytes, from the first on */
export async function bytesOf(read: ReadContext, { at = 0, size }: ContextEntry, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const length = Math.min(size, most);
  if (length > 0) for await (const piece of read(at, length)) pieces.push(piece);
  return Buffer.concat(pieces);
}
