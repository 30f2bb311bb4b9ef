import type { AgentSession } from '../../host/guest/agent-session.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { StepContext } from '../../host/step-context.ts';
import type { GuestName } from '../../model/files/file-change.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Gap } from '../../model/playbook/change/change.ts';
import type { CheckSummary, PlaybookRecord, PlaybookRun, WrittenSummary } from '../../model/playbook/playbook.ts';
import { formatPlainPath } from '../../model/playbook/report.ts';
import { writePlaybook } from '../../model/playbook/write-playbook.ts';
import { redactArgv, redactText } from '../../model/redaction/redact.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { Store } from '../../store/connect.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';
import { changeOnHost } from './change-on-host.ts';
import { CheckFolder } from './check-folder.ts';
import { StoredPlaybook } from './stored-playbook.ts';
import { compareOnHost, type Tried } from './tried-on-host.ts';

export interface PlaybookDeps {
  hypervisor: Pick<Hypervisor, 'snapshots'>;
  guests: { agent(sandboxId: string, context: StepContext): Promise<Pick<AgentSession, 'request'>> };
  playbooks: {
    store: Pick<Store, 'commands' | 'playbookParts'>;
    /** Returns the Ansible archive for guests; null: setup has not built it here. */
    ansible: () => { archive: string; version: string } | null;
  };
}

/** Target of a playbook's steps; `sandboxId` is the playbook's id, whose steps are queued like a sandbox's. */
interface PlaybookTarget extends StepTarget {
  playbookId: string;
  /** Sandbox that the playbook describes. */
  describedId: string;
}

interface WriteInput extends PlaybookTarget {
  /** Start of the changes, and base of both states, for display. */
  since: string;
  base: string;
  before: string;
  after: string;
}

interface PlaceInput extends PlaybookTarget {
  checkerId: string;
}

interface CompareInput extends PlaybookTarget, Tried {
  ansible: string;
  runs: PlaybookRun[];
}

/** Number of items in the record. */
const { listed } = LIMITS.playbook;

/** Activities of a playbook on the host of its snapshots. Guest data goes to the store, encrypted. */
export function createPlaybookHostActivities({ hypervisor, guests, playbooks }: PlaybookDeps) {
  const { snapshots } = hypervisor;
  const { store } = playbooks;
  const storedOf = ({ playbookId, describedId }: PlaybookTarget) => new StoredPlaybook(store, playbookId, describedId);
  return {
    /** Writes the playbook, over an earlier attempt's. @throws MayflyError playbook_failed, diff_failed */
    async writePlaybook(input: WriteInput): Promise<NonNullable<PlaybookRecord['written']>> {
      const { describedId: sandboxId, since: from, base, before, after } = input;
      const { paths, noise, ...change } = await changeOnHost(snapshots, { before, after }, stepContext());
      const to = new Date().toISOString();
      const ran = await store.commands.between({ sandboxId, from, to, limit: LIMITS.diff.commands });
      const written = writePlaybook({ ...change, sandboxId, base, commands: ran.map(commandText) });
      const { packages, left, tasks } = written;
      const known: WrittenSummary = {
        tasks,
        paths,
        noise,
        packages,
        packageCount: packages.length,
        variables: written.variables.map((one) => ({ ...one, of: redactText(one.of) })),
        left,
        leftCount: left.length,
      };
      await storedOf(input).write(written, known);
      return shorten(known);
    },

    /**
     * Copies the playbook and Ansible into the fresh sandbox.
     * @returns the version of Ansible; null: this host has none
     */
    async placePlaybook(input: PlaceInput): Promise<{ ansible: string | null }> {
      const ansible = playbooks.ansible();
      if (ansible === null) return { ansible: null };
      const context = stepContext();
      const stored = storedOf(input);
      const { variables } = await stored.known();
      const folder = new CheckFolder(await guests.agent(input.checkerId, context), context.signal);
      await folder.putPlaybook(await stored.files(), variables);
      await folder.putAnsible(ansible.archive);
      return { ansible: ansible.version };
    },

    /** Reports the effect of the playbook on the fresh sandbox. @throws MayflyError playbook_failed, diff_failed */
    async comparePlaybook(input: CompareInput): Promise<CheckSummary> {
      const { ansible, runs } = input;
      const stored = storedOf(input);
      const written = await stored.known();
      const outcome = await compareOnHost(snapshots, input, written, stepContext());
      const { left, beyond } = outcome;
      const check = { ansible, runs, ...outcome, leftCount: left.length, beyondCount: beyond.length };
      await stored.report(written, { check, unchecked: null });
      return { ...check, left: firstListed(left), beyond: beyond.slice(0, listed).map(shortenPath) };
    },

    async explainPlaybook(input: PlaybookTarget & { why: string }): Promise<void> {
      const stored = storedOf(input);
      await stored.report(await stored.known(), { check: null, unchecked: input.why });
    },
  };
}

function shorten(all: WrittenSummary): NonNullable<PlaybookRecord['written']> {
  const { packages, variables, left } = all;
  return {
    ...all,
    packages: packages.slice(0, listed),
    variables: variables.slice(0, listed),
    left: firstListed(left),
  };
}

function firstListed(left: readonly Gap[]) {
  return left
    .slice(0, listed)
    .map(({ path, why }) => ({ path: shortenPath(path), why: redactText(why).slice(0, 400) }));
}

function shortenPath(path: GuestName): string {
  return formatPlainPath(path).slice(0, 400);
}

function commandText({ spec }: CommandRecord): string {
  if (spec.command !== null) return redactText(spec.command);
  return redactArgv(spec.argv ?? [])
    .map((one) => (/^[\w@%+=:,./-]+$/.test(one) ? one : JSON.stringify(one)))
    .join(' ');
}
