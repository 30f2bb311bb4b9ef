import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isCaptureId } from '../../../model/ids.ts';
import { orAbsent } from '../../os/absent.ts';
import { flush, writeFileAtomic } from '../../os/atomic-file.ts';
import { entriesOf, isThere } from '../../os/directory.ts';
import { readJson, writeJson } from '../../os/json-file.ts';
import type { StateDir } from '../../state-dir.ts';
import { type Element, parseXml } from '../client/xml.ts';
import { SEARCHABLE } from './workspace.ts';

const captureId = z.string().refine(isCaptureId);

/** Plan of a capture; written before libvirt is called. */
const Plan = z.strictObject({
  source: z.string(),
  /** UUID of the source's domain. */
  domain: z.uuid(),
  disks: z.array(z.strictObject({ target: z.string(), virtualBytes: z.number() })),
  /** Parent: only changes since this capture are copied. */
  parentId: captureId.nullable(),
  fullBecause: z.string().nullable(),
  /** True when a checkpoint with the capture's id is made, so that the next capture can be incremental. */
  checkpoint: z.boolean(),
});
export type CapturePlan = z.infer<typeof Plan>;

/** Progress of a capture. */
const Attempt = z.strictObject({
  /** True when the guest was to be frozen. */
  quiesce: z.boolean(),
  /** ISO 8601. */
  at: z.iso.datetime(),
  thawed: z.boolean(),
  copied: z.boolean(),
});

const Saved = z.strictObject({
  disks: z.array(
    z.strictObject({
      target: z.string(),
      sha256: z.hex().length(64),
      virtualBytes: z.number(),
      storedBytes: z.number(),
    }),
  ),
  sizeBytes: z.number(),
  quiesced: z.boolean(),
  capturedAt: z.iso.datetime(),
  parentId: captureId.nullable(),
  fullBecause: z.string().nullable(),
});

const Spec = z.strictObject({ plan: Plan, saved: Saved });
export type CaptureSpec = z.infer<typeof Spec>;

const MAKING = '.new';
const DROPPED = '.gone';
const NEEDED_TO_MAKE = ['source.xml', 'plan.json', 'attempt.json', 'backup.xml', 'checkpoint.xml'];

/**
 * Folder of one capture on the host. It is made under a temporary name, and renamed once everything is checked: then it
 * holds `spec.json`, `domain.xml`, and one image for each disk, named by the digest of its content.
 */
export class CaptureFolder {
  readonly path: string;
  readonly making: string;

  constructor(
    private readonly state: StateDir,
    readonly captureId: string,
  ) {
    this.path = state.capture(captureId);
    this.making = `${this.path}${MAKING}`;
  }

  targetOf = (target: string) => join(this.making, `${target}.qcow2`);
  imageOf = ({ sha256 }: { sha256: string }) => join(this.path, `${sha256}.qcow2`);
  inMaking = (name: string) => join(this.making, name);
  isWhole = () => isThere(this.path);

  async make(domainXml: string): Promise<void> {
    await mkdir(this.making, { recursive: true, mode: SEARCHABLE });
    await writeFileAtomic(this.inMaking('source.xml'), domainXml, 0o600);
    await flush(this.state.captures);
  }
  sourceXml = () => readFile(this.inMaking('source.xml'), 'utf8');
  domainXml = () => readFile(join(this.path, 'domain.xml'), 'utf8');

  plan = () => readJson(this.inMaking('plan.json'), Plan);
  writePlan = (plan: CapturePlan) => writeJson(this.inMaking('plan.json'), Plan.parse(plan));
  attempt = () => readJson(this.inMaking('attempt.json'), Attempt);
  writeAttempt = (attempt: z.infer<typeof Attempt>) => writeJson(this.inMaking('attempt.json'), attempt);
  writeSpec = (spec: CaptureSpec) => writeJson(this.inMaking('spec.json'), spec);

  /** Returns the description of a checked capture, with or without its final name. */
  async spec(): Promise<CaptureSpec | null> {
    return (await readJson(join(this.path, 'spec.json'), Spec)) ?? (await readJson(this.inMaking('spec.json'), Spec));
  }

  /** Returns the captured machine, also during the capture; null before it, and after removal. */
  async domain(): Promise<Element | null> {
    // in this order: a rename to the final name may come in between
    const xml = (await orAbsent(this.sourceXml())) ?? (await orAbsent(this.domainXml()));
    return xml === null ? null : parseXml(xml);
  }

  async keep({ saved }: CaptureSpec, domainXml: string): Promise<void> {
    for (const { target, sha256 } of saved.disks) {
      if (!(await isThere(this.targetOf(target)))) continue; // has been renamed
      await rename(this.targetOf(target), this.inMaking(`${sha256}.qcow2`));
    }
    await writeFileAtomic(this.inMaking('domain.xml'), domainXml, 0o600);
    await flush(this.making);
    await rename(this.making, this.path);
    await flush(this.state.captures);
  }

  /** Removes the files that only the capture process needed. */
  async tidy(): Promise<void> {
    for (const name of NEEDED_TO_MAKE) await rm(join(this.path, name), { force: true });
  }

  /** Removes the folder atomically; {@link sweepDropped} removes leftovers of a crash. */
  async drop(): Promise<void> {
    if (await this.isWhole()) await rename(this.path, `${this.path}${DROPPED}`);
    await rm(this.making, { recursive: true, force: true });
    await rm(`${this.path}${DROPPED}`, { recursive: true, force: true });
  }
}

export async function wholeCaptures(state: StateDir): Promise<CaptureFolder[]> {
  const names = (await entriesOf(state.captures)) ?? [];
  return names.filter(isCaptureId).map((id) => new CaptureFolder(state, id));
}

/** Returns all captures on this host, also those being made or removed. */
export async function allCaptures(state: StateDir): Promise<CaptureFolder[]> {
  const names = ((await entriesOf(state.captures)) ?? []).map((name) => name.replace(/\.(?:new|gone)$/, ''));
  return [...new Set(names.filter(isCaptureId))].sort().map((id) => new CaptureFolder(state, id));
}
