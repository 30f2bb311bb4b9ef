import type { ErrorCode } from '../errors.ts';
import type { GuestName } from '../files/file-change.ts';
import type { Actor } from '../sandbox/sandbox.ts';

/**
 * diffing → writing → checking → checked, or → unchecked, or → failed, or → cancelled
 *
 * `checking`: it is applied in a fresh sandbox, twice, and what comes of it is compared. `unchecked`: it is written, and that
 * could not be done; `result.unchecked` says why.
 */
export const PLAYBOOK_STATES = [
  'diffing',
  'writing',
  'checking',
  'checked',
  'unchecked',
  'failed',
  'cancelled',
] as const;
type PlaybookState = (typeof PLAYBOOK_STATES)[number];

export function isPlaybookOver(state: PlaybookState): boolean {
  return state === 'checked' || state === 'unchecked' || state === 'failed' || state === 'cancelled';
}

interface PlaybookPackage {
  name: string;
  version: string | null;
  change: 'installed' | 'changed' | 'removed' | 'purged';
}

/** What was written. Of each list a record has the first; the report in the archive has all. */
export interface WrittenSummary {
  tasks: number;
  /** Paths that changed, but for noise. */
  paths: number;
  /** Paths that change in every machine by themselves. */
  noise: number;
  packages: PlaybookPackage[];
  packageCount: number;
  variables: { name: string; of: string; kind: 'password hash' | 'file' }[];
  /** What it is known not to bring about. */
  left: { path: GuestName; why: string }[];
  leftCount: number;
}

/** One run of Ansible. */
export interface PlaybookRun {
  changed: number;
  failed: number;
  /** Of the first task that failed. */
  message: string | null;
}

export interface CheckSummary {
  /** Of ansible-core. */
  ansible: string;
  runs: PlaybookRun[];
  /** So many of `paths` are in the fresh sandbox as they are in the sandbox. */
  broughtAbout: number;
  paths: number;
  /** What is not, or not all of it. */
  left: { path: GuestName; why: string }[];
  leftCount: number;
  /** What the playbook changed that had not changed in the sandbox. */
  beyond: GuestName[];
  beyondCount: number;
}

interface PlaybookFailure {
  code: ErrorCode;
  message: string;
}

/** The record of one playbook: inserted by the API, from then on written by its workflow alone. */
export interface PlaybookRecord {
  id: string;
  project: string;
  sandboxId: string;
  state: PlaybookState;
  /** Where the sandbox began, or the snapshot that was named: the fresh sandbox is made of it. */
  base: { source: string; snapshotId: string | null };
  /** The fresh sandbox. */
  checkerId: string;
  written: WrittenSummary | null;
  check: CheckSummary | null;
  /** Why it was not checked. */
  unchecked: string | null;
  failure: PlaybookFailure | null;
  waitingFor: string | null;
  createdBy: Actor;
  createdAt: string;
  endedAt: string | null;
  updatedAt: string;
}

/** What the archive of a playbook is made of: `playbook` is written once, `report` once more when it was checked. `left`: all that is known of it, for the check. */
export type PlaybookPart = 'playbook' | 'report' | 'left';
