import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BaseDigests } from '../../../host/disk/base-digest.ts';
import { LibvirtCaptures } from '../../../host/libvirt/capture/captures.ts';
import { Domains } from '../../../host/libvirt/client/domains.ts';
import { Virsh } from '../../../host/libvirt/client/virsh.ts';
import { GuestAgent } from '../../../host/libvirt/guest/guest-agent.ts';
import { CaptureFolder, type CapturePlan } from '../../../host/libvirt/layers/capture-folder.ts';
import { Sources } from '../../../host/libvirt/layers/sources.ts';
import { MayflyError } from '../../../model/errors.ts';
import { captureIdFrom, domainUuid, ID_BYTES } from '../../../model/ids.ts';
import { useFreshState } from '../../support/use-folder.ts';
import { newId } from '../simulated/machine.ts';

const DOMAIN = domainUuid(newId());
const state = useFreshState();
let captures: LibvirtCaptures;
let virsh: Virsh;
let agent: GuestAgent;

/** Answers of a fake virsh by command; others are empty. */
let answers: Record<string, string>;
let asked: string[];

beforeEach(async () => {
  await mkdir(state.captures);
  [answers, asked] = [{}, []];
  virsh = new Virsh('test:///default');
  vi.spyOn(virsh, 'run').mockImplementation(async (args) => {
    asked.push(args.join(' '));
    return answers[args[0] ?? ''] ?? '';
  });
  agent = new GuestAgent(virsh, new Domains(virsh));
  const digests = new BaseDigests(state.images);
  captures = new LibvirtCaptures({ state, virsh, sources: new Sources(virsh, digests), agent, digests });
});
afterEach(async () => {
  vi.restoreAllMocks();
});

/** Makes a capture in progress: its source may be frozen, and is being copied. */
async function begun(change: Partial<CapturePlan> = {}): Promise<CaptureFolder> {
  const folder = new CaptureFolder(state, captureIdFrom(randomBytes(ID_BYTES)));
  await folder.make('<domain/>');
  const plan = { source: 'web', domain: DOMAIN, disks: [], parentId: null, fullBecause: 'first', checkpoint: true };
  await folder.writePlan({ ...plan, ...change });
  await folder.writeAttempt({ quiesce: true, at: new Date().toISOString(), thawed: false, copied: false });
  return folder;
}

/** Makes a complete capture, without disks, which are irrelevant here. */
async function whole(): Promise<CaptureFolder> {
  const folder = await begun();
  const attempt = await folder.attempt();
  if (attempt) await folder.writeAttempt({ ...attempt, thawed: true, copied: true });
  await captures.verify(folder.captureId, { signal: AbortSignal.timeout(120_000), alive: () => {} });
  await captures.keep(folder.captureId);
  return folder;
}

test('a capture being deleted cannot be cloned, and one being cloned cannot be deleted', async () => {
  const { captureId } = await whole();
  await captures.on(captureId, async () => {
    await expect(captures.remove(captureId)).rejects.toMatchObject({ code: 'capture_in_use' });
  });
  const clones: Promise<unknown>[] = [];
  vi.spyOn(virsh, 'run').mockImplementation(async () => {
    clones.push(captures.on(captureId, async () => 'cloned').catch((error: unknown) => error));
    return '';
  });
  await captures.remove(captureId);
  const refusal = { code: 'capture_not_found', message: expect.stringContaining('being deleted') };
  expect((await Promise.all(clones))[0]).toMatchObject(refusal);
  expect(await captures.list()).toEqual([]);
});

test('removing a capture without a checkpoint removes that of an earlier attempt', async () => {
  const { captureId } = await begun({ checkpoint: false });
  answers['domjobinfo'] = 'Job type:         None';
  answers['checkpoint-list'] = `${captureId}\n`;
  await captures.remove(captureId);
  expect(asked).toContain(`checkpoint-delete ${DOMAIN} ${captureId}`);
  expect(await readdir(state.captures)).toEqual([]);
});

test('a host that opens thaws guests left frozen by a killed worker, and warns of failures', async () => {
  const [stuck, frozen, done] = [await begun({ domain: domainUuid(newId()) }), await begun(), await whole()];
  const stuckDomain = (await stuck.plan())?.domain;
  const thaw = vi.spyOn(agent, 'thaw').mockImplementation(async (domain) => {
    if (domain === stuckDomain) throw new MayflyError('guest_unreachable', 'its agent does not answer');
  });
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  await captures.thawAll();
  expect(new Set(thaw.mock.calls.flat())).toEqual(new Set([stuckDomain, DOMAIN]));
  expect(await frozen.attempt()).toMatchObject({ thawed: true });
  expect(await stuck.attempt()).toMatchObject({ thawed: false });
  expect(warned.mock.calls).toEqual([[expect.stringMatching(`${stuck.captureId} .* does not answer`)]]);
  expect(await captures.list()).toContainEqual({ captureId: done.captureId, state: 'whole' });
});
