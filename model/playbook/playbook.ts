import { z } from 'zod';
import { actor, displayFailure, displayText, encryptedField, instant } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import type { Gap } from './change/change.ts';

const { listed } = LIMITS.playbook;
const left = z.array(z.object({ path: z.string(), why: z.string() }));

const writtenSummary = z.object({
  tasks: z.int(),
  paths: z.int().describe('That changed'),
  noise: z.int().describe('That change in every machine by themselves'),
  packages: z.array(
    z.object({
      name: z.string(),
      version: z.string().nullable(),
      change: z.enum(['installed', 'changed', 'removed', 'purged']),
    }),
  ),
  packageCount: z.int(),
  variables: z.array(z.object({ name: z.string(), of: z.string(), kind: z.enum(['password hash', 'file']) })),
  left: left.describe(`What it is known not to bring about, the first ${listed}`),
  leftCount: z.int(),
});
/** Summary of a written playbook. A record has the first items of each list, the report in the archive has all. */
export interface WrittenSummary extends Omit<z.infer<typeof writtenSummary>, 'left'> {
  left: Gap[];
}

const checkSummary = z.object({
  ansible: z.string().describe('The version of ansible-core'),
  runs: z.array(
    z.object({
      changed: z.int(),
      failed: z.int(),
      message: z.string().nullable().describe('Of the first task that failed'),
    }),
  ),
  broughtAbout: z.int().describe('So many of `paths` are in the fresh sandbox as they are in the sandbox'),
  paths: z.int(),
  left: left.describe(`What it has not brought about, the first ${listed}`),
  leftCount: z.int(),
  beyond: z.array(z.string()).describe('What it has changed besides'),
  beyondCount: z.int(),
});
export type CheckSummary = z.infer<typeof checkSummary>;
/** Result of one run of Ansible. */
export type PlaybookRun = CheckSummary['runs'][number];

/**
 * diffing → writing → checking → checked, or → unchecked, or → failed, or → cancelled
 *
 * `checking`: applies the playbook twice in a fresh sandbox and compares the result. `unchecked`: written, but the
 * check was impossible. Inserted by the API, then written only by its workflow.
 */
export const playbookRecord = z.object({
  id: z.string(),
  project: z.string(),
  sandboxId: z.string(),
  state: z.enum(['diffing', 'writing', 'checking', 'checked', 'unchecked', 'failed', 'cancelled']),
  base: encryptedField(z.object({ source: z.string(), snapshotId: z.string().nullable() })).describe(
    'Where the sandbox began, or the snapshot that was named: the fresh sandbox is made of it',
  ),
  checkerId: z.string().describe('The fresh sandbox: its command has what Ansible says, live'),
  written: encryptedField(writtenSummary).nullable(),
  check: encryptedField(checkSummary).nullable(),
  unchecked: encryptedField(z.string()).nullable().describe('Why it was not checked'),
  failure: displayFailure().nullable(),
  waitingFor: displayText().nullable(),
  createdBy: actor,
  createdAt: instant,
  endedAt: instant.nullable(),
  updatedAt: instant,
});
export type PlaybookRecord = z.infer<typeof playbookRecord>;

export function isPlaybookOver(state: PlaybookRecord['state']): boolean {
  return state === 'checked' || state === 'unchecked' || state === 'failed' || state === 'cancelled';
}

/**
 * Parts of a playbook's archive: `playbook` is written once, `report` again after the check; `left` has all known gaps,
 * for the check.
 */
export type PlaybookPart = 'playbook' | 'report' | 'left';
