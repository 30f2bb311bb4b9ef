import { z } from 'zod';
import { sha256Hex } from '../../digest.ts';
import { actor, displayFailure, displayText, encryptedField, instant } from '../../fields.ts';
import { commandIdFrom, deriveIdBytes, sandboxIdFrom, snapshotIdFrom } from '../../ids.ts';
import { snapshotKind } from '../../snapshots/snapshot.ts';
import { type FunctionSpec, functionSpec, setupSpec } from '../function.ts';

/** Inputs of the saved state. */
const setupInputs = setupSpec.extend(
  functionSpec.pick({ filesDigest: true, user: true, env: true, network: true, cpus: true, memoryMib: true }).shape,
);
export type SetupInputs = z.infer<typeof setupInputs>;

/**
 * preparing → ready | failed; failed → preparing, when requested again; any → removing → gone
 *
 * Shared by the functions of a project with the same setup.
 */
export const setupRecord = z.object({
  project: z.string(),
  key: z.string().describe('SHA-256 of the content, hex'),
  seed: z
    .string()
    .describe('Of which the ids of its tries are made: deployed once more after it was removed it has another. Random'),
  state: z
    .enum(['preparing', 'ready', 'failed', 'removing'])
    .describe(
      '`preparing`: its runs wait. `failed`: they end as `not-started`; deploy the same once more to try again',
    ),
  revision: z.int().describe('Grows with each change: whoever changes it says which it has seen'),
  wish: encryptedField(setupInputs),
  tries: z.int().describe('Sandboxes that were begun for it: the ids of each follow from its number'),
  failures: z.int().describe('Tries that failed since it was asked for last, for another reason than room'),
  snapshotId: z.string().nullable().describe('What runs are forked from, once it is `ready`'),
  snapshotKind: snapshotKind
    .nullable()
    .describe('`full`: disks and memory are saved. `disk`: its host saves no memory, and each run boots'),
  failure: displayFailure().nullable(),
  log: displayText().nullable().describe('Where it failed: the end of what its script printed'),
  waitingFor: displayText().nullable().describe('Null: it goes on'),
  createdBy: actor,
  createdAt: instant,
  updatedAt: instant,
});
export type SetupRecord = z.infer<typeof setupRecord>;
export type SetupState = SetupRecord['state'];

/** States in which its workflow has work. */
export const OPEN_SETUP_STATES = ['preparing', 'removing'] as const satisfies readonly SetupState[];

/** Null: the function has no setup. */
export function toSetupInputs(spec: FunctionSpec): SetupInputs | null {
  const { setup, filesDigest, user, env, network, cpus, memoryMib } = spec;
  return setup ? { ...setup, filesDigest, user, env, network, cpus, memoryMib } : null;
}

/** Derives the key of a setup from its content, without the timeout. Hex. */
export function deriveSetupKey(wish: SetupInputs): string {
  const { source, script, filesDigest, user, env, network, cpus, memoryMib } = wish;
  const variables = Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const content = [source, script, filesDigest, user, variables, network.egress, cpus, memoryMib];
  return sha256Hex(JSON.stringify(content));
}

/**
 * Sandbox of a setup with its snapshots; ids are derived before anything is created, so that a retry finds its objects.
 */
export interface SetupTry {
  n: number;
  sandboxId: string;
  commandId: string;
  /** Disks and memory. */
  snapshotId: string;
  /** Disks only, for hosts that cannot save memory. */
  diskSnapshotId: string;
}

export function deriveSetupTry({ seed }: Pick<SetupRecord, 'seed'>, n: number): SetupTry {
  const bytes = (what: string) => deriveIdBytes(`setup/${seed}/${n}/${what}`);
  return {
    n,
    sandboxId: sandboxIdFrom(bytes('sandbox')),
    commandId: commandIdFrom(bytes('command')),
    snapshotId: snapshotIdFrom(bytes('full')),
    diskSnapshotId: snapshotIdFrom(bytes('disk')),
  };
}
