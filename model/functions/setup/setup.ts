import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { commandIdFrom, ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../ids.ts';
import type { Actor, Egress } from '../../sandbox/sandbox.ts';
import type { SnapshotKind } from '../../snapshots/snapshot.ts';
import type { FunctionSpec, SetupSpec } from '../function.ts';
import type { RunFailure } from '../run-state.ts';

/** All that what is saved depends on. */
export interface SetupWish extends SetupSpec {
  filesDigest: string | null;
  user: string | null;
  env: Record<string, string>;
  network: { egress: Egress };
  cpus: number | null;
  memoryMib: number | null;
}

/**
 * preparing → ready | failed; failed → preparing, where it is asked for again; any → removing → gone
 *
 * `removing`: no version needs it any more.
 */
export const SETUP_STATES = ['preparing', 'ready', 'failed', 'removing'] as const;
export type SetupState = (typeof SETUP_STATES)[number];

/** In these its workflow has something to do. */
export const OPEN_SETUP_STATES = ['preparing', 'removing'] as const satisfies readonly SetupState[];

/** What is saved for the functions of a project that have the same setup. */
export interface SetupRecord {
  project: string;
  /** {@link setupKeyOf} */
  key: string;
  /** Of which the ids of its tries are made: what is deployed once more after it was removed has others. Random. */
  seed: string;
  state: SetupState;
  /** Grows with each change: whoever changes it says which it has seen. */
  revision: number;
  wish: SetupWish;
  /** Sandboxes that were begun for it: the ids of each follow from its number. */
  tries: number;
  /** Tries that failed since it was asked for last, for another reason than room. */
  failures: number;
  /** What runs are forked from, once it is `ready`. */
  snapshotId: string | null;
  snapshotKind: SnapshotKind | null;
  failure: RunFailure | null;
  /** The end of what its script has printed, where it failed. */
  log: string | null;
  /** What it waits for; null: it goes on. */
  waitingFor: string | null;
  createdBy: Actor & { project: string };
  createdAt: string;
  updatedAt: string;
}

/** Null: the function has none. */
export function setupWishOf(spec: FunctionSpec): SetupWish | null {
  const { setup, filesDigest, user, env, network, cpus, memoryMib } = spec;
  return setup ? { ...setup, filesDigest, user, env, network, cpus, memoryMib } : null;
}

/** The same content has the same, whatever time it may take. Hex. */
export function setupKeyOf(wish: SetupWish): string {
  const { source, script, filesDigest, user, env, network, cpus, memoryMib } = wish;
  const variables = Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const content = [source, script, filesDigest, user, variables, network.egress, cpus, memoryMib];
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify(content))));
}

/** One sandbox of it, and what is saved of that: named before it is made, so that whoever goes on finds what there is. */
export interface SetupTry {
  n: number;
  sandboxId: string;
  commandId: string;
  /** Of disks and memory. */
  snapshotId: string;
  /** Of disks alone, where the host saves no memory. */
  diskSnapshotId: string;
}

export function setupTry({ seed }: Pick<SetupRecord, 'seed'>, n: number): SetupTry {
  const bytes = (what: string) => sha256(utf8ToBytes(`setup/${seed}/${n}/${what}`)).slice(0, ID_BYTES);
  return {
    n,
    sandboxId: sandboxIdFrom(bytes('sandbox')),
    commandId: commandIdFrom(bytes('command')),
    snapshotId: snapshotIdFrom(bytes('full')),
    diskSnapshotId: snapshotIdFrom(bytes('disk')),
  };
}
