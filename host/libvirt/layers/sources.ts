import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import { RUNNING_PROBLEM, type SourceInfo } from '../../../model/host.ts';
import { DEFAULT_INTERVALS } from '../../../model/intervals.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import type { BaseDigests } from '../../disk/base-digest.ts';
import { contentOf } from '../../disk/content.ts';
import { imageChain } from '../../disk/image.ts';
import { orAbsent } from '../../os/absent.ts';
import type { StepContext } from '../../step-context.ts';
import { nullIfMissing, type Virsh } from '../client/virsh.ts';
import { child, textOf } from '../client/xml.ts';
import { type DiskBase, type DiskPlan, planDisks } from '../domain-xml/clone-disks.ts';
import { cpuCount, memoryKib } from '../domain-xml/clone-resources.ts';
import { parseDomain } from '../domain-xml/clone-xml.ts';
import { names } from '../output/tables.ts';

export interface Source {
  name: string;
  xml: string;
  /** Reason why its disks are in use; null when they are at rest. */
  busy: string | null;
}

/** Cached definition, with the domain's activity at that time. */
interface CachedDefinition {
  xml: string;
  isActive: boolean;
  readAt: number;
}

interface SourceDisks {
  /** Virtual size of all disks. */
  diskBytes: number;
  files: string[];
}

/** Separator of the answers of {@link Sources.list}: no domain has a slash in its name. */
const BETWEEN = '//';

/** Domains of this libvirt that are not sandboxes. They are never changed. */
export class Sources {
  /** Cache by XML, so that `sources` need not measure disks every few seconds. */
  readonly #disks = new Map<string, SourceDisks>();
  /** Cache by name, for {@link list} alone: a clone reads its source's definition again. */
  readonly #remembered = new Map<string, CachedDefinition>();

  constructor(
    private readonly virsh: Virsh,
    private readonly digests: BaseDigests,
    private readonly intervals = DEFAULT_INTERVALS,
  ) {}

  /** @throws MayflyError source_not_found */
  async get(name: string): Promise<Source> {
    const [xml, saved] = await Promise.all([
      this.#xmlOf(name),
      this.virsh.run(['list', '--all', '--name', '--with-managed-save']),
    ]);
    return { name, xml, busy: busy(xml, names(saved).includes(name)) };
  }

  async #xmlOf(name: string): Promise<string> {
    const xml = isSandboxId(name) ? null : await nullIfMissing(this.virsh.run(['dumpxml', `--domain=${name}`]));
    // virsh takes a number for a domain's id, and hexadecimal digits for its UUID
    if (xml !== null && textOf(child(parseDomain(xml), 'name')) === name) return xml;
    throw new MayflyError('source_not_found', `There is no source ${JSON.stringify(name)} on this host.`);
  }

  /** Lists the sources. A definition changed without a start or stop shows after `definitionMs` at most. */
  async list(): Promise<SourceInfo[]> {
    const questions = ['list --all --name', 'list --name', 'list --all --name --with-managed-save'];
    const said = await this.virsh.run([questions.join(`; echo ${BETWEEN}; `)]);
    const [all = [], active = [], saved = []] = said.split(BETWEEN).map(names);
    for (const name of this.#remembered.keys()) if (!all.includes(name)) this.#remembered.delete(name);
    const found: SourceInfo[] = [];
    for (const name of all.filter((one) => !isSandboxId(one))) {
      try {
        const xml = await this.#definitionOf(name, active.includes(name));
        found.push(await this.describe({ name, xml, busy: busy(xml, saved.includes(name)) }));
      } catch (error) {
        if (!isMayflyError(error, 'source_not_found')) throw error; // just removed
      }
    }
    return found;
  }

  async #definitionOf(name: string, isActive: boolean): Promise<string> {
    const known = this.#remembered.get(name);
    const isNew = known && performance.now() - known.readAt < this.intervals.definitionMs;
    if (isNew && known.isActive === isActive) return known.xml;
    const xml = await this.#xmlOf(name);
    this.#remembered.set(name, { xml, isActive, readAt: performance.now() });
    return xml;
  }

  /** Describes a source; `problem` is the reason when it cannot be cloned. */
  async describe(source: Source): Promise<SourceInfo> {
    const domain = parseDomain(source.xml);
    const cpus = cpuCount(domain);
    const memoryMib = Math.ceil(memoryKib(child(domain, 'memory')) / 1024);
    const known = { name: source.name, cpus, memoryMib };
    try {
      const { diskBytes, files } = await this.#disksOf(source.xml);
      const content = source.busy === null ? await this.#getCachedContent(files) : null;
      return { ...known, cloneable: source.busy === null, problem: source.busy, diskBytes, content };
    } catch (error) {
      if (isMayflyError(error, 'host_unavailable')) throw error;
      const problem = error instanceof Error ? error.message : String(error);
      return { ...known, cloneable: false, problem, diskBytes: 0 };
    }
  }

  /** Returns the path of a disk's base; libvirt resolves a volume. */
  async pathOf(base: DiskBase): Promise<string> {
    if ('path' in base) return base.path;
    return (await this.virsh.run(['vol-path', '--pool', base.pool, '--vol', base.volume])).trim();
  }

  /**
   * Digests the source's disks, made read-only as for a clone. @returns null when one is a block device
   * @throws MayflyError source_not_found, source_running, host_unavailable when a disk cannot be read
   */
  async contentOf(name: string, context: StepContext): Promise<string | null> {
    const { xml, busy } = await this.get(name);
    if (busy !== null) throw new MayflyError('source_running', `${name}: ${busy}`);
    this.#disks.delete(xml); // their backing files may have changed
    const found = await this.digestsOf(xml, context);
    return found && contentOf(found);
  }

  /** Returns the digests of its disks' files, made read-only as for a clone; null when one is a block device. */
  async digestsOf(xml: string, context: StepContext): Promise<string[] | null> {
    const found: string[] = [];
    for (const file of (await this.#disksOf(xml)).files) {
      context.signal.throwIfAborted();
      context.alive(`reading ${file}`);
      const digest = await this.digests.protect(file, { signal: context.signal });
      if (digest === null) return null;
      found.push(digest);
    }
    return found;
  }

  /** Returns null unless all digests are cached and current. */
  async #getCachedContent(files: readonly string[]): Promise<string | null> {
    const found = await Promise.all(files.map((file) => orAbsent(this.digests.remembered(file))));
    const known = found.filter((digest) => digest !== null);
    return known.length === files.length ? contentOf(known) : null;
  }

  async #disksOf(xml: string): Promise<SourceDisks> {
    const known = this.#disks.get(xml);
    if (known !== undefined) return known;
    const plans: DiskPlan[] = planDisks(parseDomain(xml), '/dev/null');
    const disks: SourceDisks = { diskBytes: 0, files: [] };
    for (const { base, format } of plans) {
      const chain = await imageChain(await this.pathOf(base), format);
      disks.diskBytes += chain[0]?.virtualBytes ?? 0;
      disks.files.push(...chain.map(({ path }) => path));
    }
    this.#disks.set(xml, disks);
    return disks;
  }
}

/** @throws MayflyError source_not_running */
export function activeXml({ name, xml }: Source): string {
  if (isActive(xml)) return xml;
  throw new MayflyError('source_not_running', `${JSON.stringify(name)} is shut off.`);
}

/** True when the domain has an id, which libvirt gives only to active ones. */
function isActive(xml: string): boolean {
  return parseDomain(xml).attributes['id'] !== undefined;
}

function busy(xml: string, saved: boolean): string | null {
  if (isActive(xml)) return RUNNING_PROBLEM;
  return saved ? 'It has a saved memory image, so its disk is not at rest.' : null;
}
