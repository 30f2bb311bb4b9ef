import { createHash } from 'node:crypto';
import type { SourceConsole } from '../../../host/console.ts';
import { addSshdSettings, removeSshdSettings } from '../../../host/source/admission.ts';
import { claimSource, type Gate, installGate, releaseSource, removeGate } from '../../../host/source/gate.ts';
import { inspectSource } from '../../../host/source/inspection.ts';
import { createReader, removeReader } from '../../../host/source/reader.ts';
import { distrustUserCa, trustUserCa } from '../../../host/source/trust.ts';
import type { SourceInspection } from '../../../model/snapshots/source-access.ts';

const bytes = Buffer.from('#!/bin/false\n');
/** Fake gate, for tests without a login. */
export const GATE: Gate = { bytes, digest: createHash('sha256').update(bytes).digest('hex') };
const SIGNAL = AbortSignal.timeout(3_600_000);

/** Runs the steps of a prepare without Temporal, up to sshd. */
export async function prepareHere(
  console: SourceConsole,
  id: string,
  caKeys: string[],
  gate = GATE,
): Promise<SourceInspection> {
  const inspection = await inspectSource(console, id, gate.bytes.length, SIGNAL);
  await claimSource(console, id, SIGNAL);
  await installGate(console, id, gate, SIGNAL);
  await createReader(console, id, SIGNAL);
  await trustUserCa(console, id, caKeys, SIGNAL);
  await addSshdSettings(console, id, inspection, SIGNAL);
  return inspection;
}

/** Runs its compensations, newest first. */
export async function unprepareHere(console: SourceConsole, id: string): Promise<void> {
  await removeSshdSettings(console, id);
  await distrustUserCa(console, id);
  await removeReader(console, id);
  await removeGate(console, id);
  await releaseSource(console, id);
}
