import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { assertPrivate } from '../../ca/key-file.ts';
import { parsePublicKey } from '../../ca/public-key.ts';
import {
  beginRotation,
  type CaKeys,
  distrustPreviousKey,
  finishRotation,
  readKeys,
  signingKeyPath,
} from '../../ca/rotation.ts';
import { isNotFound } from '../../host/os/absent.ts';
import { MayflyError } from '../../model/errors.ts';
import type { Store } from '../../store/connect.ts';
import type { Config } from '../config/config.ts';
import { createDataConverter, installationKeys, temporalClient } from '../payloads/data-converter.ts';
import { withStore } from '../servers/local-store.ts';
import { loadServerAddresses } from '../servers/remembered-servers.ts';
import { connectTemporal } from '../servers/temporal.ts';
import { type PushOptions, pushTrust, sandboxesAlive, type TrustResult } from './ca-audience.ts';

export type RotationStep = 'begin' | 'finish' | 'forget';

export interface CaState {
  stage: CaKeys['stage'];
  /** Fingerprints, as `ssh-keygen -lf` prints them. */
  signing: string;
  next: string | null;
  previous: string | null;
}

/** Result of a step of a rotation. While `waiting` names a guest, the step is unfinished. */
export interface RotationResult extends CaState, TrustResult {}

/**
 * Returns the keys of the CA. @throws MayflyError not_found where the CA is missing: it is on the control worker's machine
 */
export async function showCa(config: Config): Promise<CaState> {
  return stateOf(await readKeys(await folderOf(config)));
}

/**
 * Moves the CA to another key, in three steps between which no one is locked out. Each may be repeated, and lists the
 * guests not yet reached.
 *
 *   begin   makes the next key; every guest trusts both from then on
 *   finish  when every guest does: the next key signs, also new certificates of the host; the old key stays trusted
 *   forget  when no certificate of the old key is needed: guests stop trusting it
 *
 * @throws MayflyError not_found, invalid_request when the step is out of order; temporal_unavailable, store_unavailable
 */
export async function rotateCa(config: Config, step: RotationStep, options: PushOptions): Promise<RotationResult> {
  const folder = await folderOf(config);
  const keys = await installationKeys(config);
  return withStore(config, { keys }, async (store) => {
    const connection = await connectTemporal(await temporalAddress(config), config.temporalTls);
    try {
      const dataConverter = createDataConverter(keys);
      const client = temporalClient({ connection, dataConverter, namespace: config.temporalNamespace });
      const tell = () => pushTrust(client, store, options);
      const outcome = await STEPS[step](folder, store, tell);
      return { ...stateOf(await readKeys(folder)), ...outcome };
    } finally {
      await connection.close();
    }
  });
}

type Step = (folder: string, store: Store, tell: () => Promise<TrustResult>) => Promise<TrustResult>;

const STEPS: Record<RotationStep, Step> = {
  begin: async (folder, _store, tell) => {
    await beginRotation(folder);
    return tell();
  },
  finish: async (folder, _store, tell) => {
    const { stage } = await readKeys(folder);
    if (stage === 'begun') {
      const before = await tell();
      if (before.waiting.length > 0) return before;
    }
    await finishRotation(folder);
    return tell();
  },
  forget: async (folder, store, tell) => {
    await refuseWhileNeeded(folder, store);
    await distrustPreviousKey(folder);
    return tell();
  },
};

/** @throws MayflyError invalid_request while a certificate of the previous key still opens a guest */
async function refuseWhileNeeded(folder: string, store: Store): Promise<void> {
  const { stage, previous } = await readKeys(folder);
  if (stage !== 'finished' || previous === null) return;
  const signedBy = parsePublicKey(previous).fingerprint;
  let until = '';
  for (const { id } of await sandboxesAlive(store)) {
    const certificates = await store.certificates.of(id);
    const own = certificates.find(({ purpose }) => purpose === 'host');
    for (const certificate of certificates) {
      const isNeeded = certificate.purpose === 'caller' ? certificate.revokedAt === null : certificate === own;
      if (isNeeded && certificate.signedBy === signedBy && certificate.validBefore > until)
        until = certificate.validBefore;
    }
  }
  if (until <= new Date().toISOString()) return;
  throw new MayflyError(
    'invalid_request',
    `Certificates of the previous key open sandboxes until ${until}. Wait until then, or revoke them; nothing was changed.`,
  );
}

function stateOf({ stage, current, next, previous }: CaKeys): CaState {
  const fingerprint = (line: string | null) => line && parsePublicKey(line).fingerprint;
  return {
    stage,
    signing: parsePublicKey(current).fingerprint,
    next: fingerprint(next),
    previous: fingerprint(previous),
  };
}

async function folderOf({ stateDir }: Config): Promise<string> {
  const folder = join(stateDir, 'control', 'ca');
  const path = signingKeyPath(folder);
  try {
    await access(path);
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new MayflyError(
      'not_found',
      `There is no CA key ${path}: it is only on the machine of the control worker. Run this there, with its MAYFLY_STATE_DIR.`,
      { cause },
    );
  }
  await assertPrivate(path);
  return folder;
}

async function temporalAddress(config: Config): Promise<string> {
  const address = config.temporalAddress ?? (await loadServerAddresses(config.stateDir))?.temporalAddress;
  if (address) return address;
  throw new MayflyError('temporal_unavailable', 'No installation has run here and TEMPORAL_ADDRESS is not set.');
}
