import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { AgentRequest, AgentSession } from '../../host/guest/agent-session.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { StepContext } from '../../host/step-context.ts';
import { MayflyError } from '../../model/errors.ts';
import type { GuestName } from '../../model/files/file-change.ts';
import { LIMITS } from '../../model/limits.ts';
import { filesOf, partOf } from '../../model/playbook/archive.ts';
import type { Left } from '../../model/playbook/change/change.ts';
import { CHECK_FOLDER, checkFiles } from '../../model/playbook/check-program.ts';
import { compareCheck } from '../../model/playbook/compare-check.ts';
import type { CheckSummary, PlaybookRun, WrittenSummary } from '../../model/playbook/playbook.ts';
import { plainPath, reportOf } from '../../model/playbook/report.ts';
import { writePlaybook } from '../../model/playbook/write-playbook.ts';
import { redactArgv, redactText } from '../../model/redaction/redact.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { Store } from '../../store/connect.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';
import { changeOnHost } from './change-on-host.ts';
import { differencesOf } from './differences.ts';
import { systemTexts } from './system-texts.ts';

export interface PlaybookDeps {
  hypervisor: Pick<Hypervisor, 'snapshots'>;
  guests: { agent(sandboxId: string, context: StepContext): Promise<Pick<AgentSession, 'request'>> };
  playbooks: {
    store: Pick<Store, 'commands' | 'playbookParts'>;
    /** Ansible as it is put into a guest; null: set-up has not made it here. */
    ansible: () => { archive: string; version: string } | null;
  };
}

/** `sandboxId` is the playbook's id: its steps take turns as a sandbox's do. */
export interface WriteInput extends StepTarget {
  playbookId: string;
  /** Whose playbook it is, since when, and what both states come from, for people. */
  describedId: string;
  since: string;
  base: string;
  before: string;
  after: string;
}

export interface PlaceInput extends StepTarget {
  playbookId: string;
  checkerId: string;
}

export interface CompareInput extends StepTarget {
  playbookId: string;
  describedId: string;
  fresh: string;
  now: string;
  applied: string;
  ansible: string;
  runs: PlaybookRun[];
}

/** Of which a record has the first. */
const { listed } = LIMITS.playbook;

/** What is done for a playbook where the snapshots are. What it says of a guest goes to the store, sealed. */
export function createPlaybookHostActivities({ hypervisor, guests, playbooks }: PlaybookDeps) {
  const { snapshots } = hypervisor;
  const { store } = playbooks;
  return {
    /** Writes it, in place of what an earlier attempt wrote. @throws MayflyError playbook_failed, diff_failed */
    async writePlaybook({ playbookId, describedId, since, base, before, after }: WriteInput): Promise<WrittenSummary> {
      const context = stepContext();
      const { paths, noise, ...change } = await changeOnHost(snapshots, { before, after }, context);
      const to = new Date().toISOString();
      const ran = await store.commands.between({
        sandboxId: describedId,
        from: since,
        to,
        limit: LIMITS.diff.commands,
      });
      const whole = { ...change, sandboxId: describedId, base, commands: ran.map(commandText) };
      const written = writePlaybook(whole);
      const packages = written.packages;
      const variables = written.variables.map((one) => ({ ...one, of: redactText(one.of) }));
      const summary = { tasks: written.tasks, paths, noise, packages: [...packages], packageCount: packages.length };
      const all: WrittenSummary = { ...summary, variables, left: written.left, leftCount: written.left.length };
      await store.playbookParts.put(playbookId, 'playbook', partOf(filesOf(written)));
      await store.playbookParts.put(playbookId, 'left', new TextEncoder().encode(JSON.stringify(all)));
      const report = { sandboxId: describedId, written: all, left: written.left, check: null, unchecked: null };
      await store.playbookParts.put(playbookId, 'report', reportPart(reportOf(report)));
      return shortened(all);
    },

    /** Puts the playbook and Ansible into the fresh sandbox. @returns the version of Ansible; null: this host has none */
    async placePlaybook({ playbookId, checkerId }: PlaceInput): Promise<{ ansible: string | null }> {
      const ansible = playbooks.ansible();
      if (ansible === null) return { ansible: null };
      const context = stepContext();
      const part = await store.playbookParts.get(playbookId, 'playbook');
      if (!part) throw new MayflyError('playbook_failed', `The playbook ${playbookId} is not there any more.`);
      const { variables } = await writtenIn(store, playbookId);
      const agent = await guests.agent(checkerId, context);
      const archive = Buffer.concat([part, partOf(checkFiles(variables)), new Uint8Array(1_024)]);
      await put(agent, '/v1/tar', CHECK_FOLDER, archive, context.signal);
      const body = createReadStream(ansible.archive);
      await put(agent, '/v1/files', `${CHECK_FOLDER}/ansible.tar.gz`, body, context.signal);
      return { ansible: ansible.version };
    },

    /** Says what the playbook has brought about in the fresh sandbox. @throws MayflyError playbook_failed, diff_failed */
    async comparePlaybook(input: CompareInput): Promise<CheckSummary> {
      const { playbookId, describedId, fresh, now, applied, ansible, runs } = input;
      const context = stepContext();
      const wanted = await differencesOf(snapshots, { before: fresh, after: now }, context);
      const remaining = await differencesOf(snapshots, { before: now, after: applied }, context);
      const textsOf = (id: string) => systemTexts(snapshots, id, context.signal);
      const [ofFresh, ofNow, ofApplied] = await Promise.all([textsOf(fresh), textsOf(now), textsOf(applied)]);
      const texts = { fresh: ofFresh, now: ofNow, applied: ofApplied };
      const written = await writtenIn(store, playbookId);
      const known = written.left;
      const outcome = compareCheck({
        wanted: wanted.changes,
        remaining: remaining.changes,
        texts,
        known,
        variables: written.variables,
      });
      const { left, beyond } = outcome;
      const check = { ansible, runs, ...outcome, leftCount: left.length, beyondCount: beyond.length };
      const report = reportOf({ sandboxId: describedId, written, left: known, check, unchecked: null });
      await store.playbookParts.put(playbookId, 'report', reportPart(report));
      return { ...check, left: first(left), beyond: beyond.slice(0, listed).map(brief) };
    },

    /** Says in the report why it was not checked. */
    async explainPlaybook({
      playbookId,
      describedId,
      why,
    }: StepTarget & { playbookId: string; describedId: string; why: string }): Promise<void> {
      const written = await writtenIn(store, playbookId);
      const report = { sandboxId: describedId, written, left: written.left, check: null, unchecked: why };
      await store.playbookParts.put(playbookId, 'report', reportPart(reportOf(report)));
    },
  };
}

async function writtenIn(store: PlaybookDeps['playbooks']['store'], playbookId: string): Promise<WrittenSummary> {
  const all = await store.playbookParts.get(playbookId, 'left');
  if (!all) throw new MayflyError('playbook_failed', `The playbook ${playbookId} is not there any more.`);
  return JSON.parse(new TextDecoder().decode(all)) as WrittenSummary;
}

function reportPart(report: string): Uint8Array {
  return partOf([{ name: 'report.md', bytes: new TextEncoder().encode(report) }]);
}

function shortened(all: WrittenSummary): WrittenSummary {
  const { packages, variables, left } = all;
  return { ...all, packages: packages.slice(0, listed), variables: variables.slice(0, listed), left: first(left) };
}

function first(left: readonly Left[]): Left[] {
  return left.slice(0, listed).map(({ path, why }) => ({ path: brief(path), why: redactText(why).slice(0, 400) }));
}

function brief(path: GuestName): string {
  return plainPath(path).slice(0, 400);
}

function commandText({ spec }: CommandRecord): string {
  if (spec.command !== null) return redactText(spec.command);
  return redactArgv(spec.argv ?? [])
    .map((one) => (/^[\w@%+=:,./-]+$/.test(one) ? one : JSON.stringify(one)))
    .join(' ');
}

async function put(
  agent: Pick<AgentSession, 'request'>,
  path: string,
  to: string,
  body: NonNullable<AgentRequest['body']>,
  signal: AbortSignal,
): Promise<void> {
  const query = `path=${Buffer.from(to).toString('base64url')}&parents=true&user=root`;
  const type = path === '/v1/tar' ? 'application/x-tar' : 'application/octet-stream';
  const headers = { 'content-type': type };
  const answer = await agent.request({ method: 'PUT', path: `${path}?${query}`, headers, body, signal });
  const said = await buffer(answer.body);
  if (answer.status < 300) return;
  throw new MayflyError(
    'guest_failed',
    `The guest answered ${answer.status} to ${path}: ${said.toString('utf8', 0, 200).replace(/[^\x20-\x7e]/g, '?')}`,
  );
}
