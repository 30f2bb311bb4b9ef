import { RequestKey } from '../../ca/signed-request.ts';
import type { Failpoints } from '../../host/failpoints.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { type Installation, readInstallation, saveInstallation } from '../../host/installation.ts';
import { Ledger } from '../../host/ledger.ts';
import { makeSearchable } from '../../host/os/directory.ts';
import { type Gate, readGate } from '../../host/source/gate.ts';
import { SourceReads } from '../../host/source/source-reads.ts';
import { Credentials } from '../../host/ssh/credentials.ts';
import { StateDir } from '../../host/state-dir.ts';
import { MayflyError } from '../../model/errors.ts';
import type { Observer } from '../../model/host.ts';
import type { RequestSigner } from '../../model/sandbox/signed-request.ts';
import { guestBinaries } from '../config/artifacts.mjs';
import type { Config } from '../config/config.ts';
import { HostLock } from './host-lock.ts';
import { type OpenHypervisor, openHypervisor } from './hypervisor.ts';

/** Resources of one machine's worker: hypervisor, ledger and keys to its sandboxes. */
export interface HostMachine {
  hypervisor: Hypervisor;
  ledger: Ledger;
  credentials: Credentials;
  /** Access to the sources that are inspected. */
  sourceReads: SourceReads;
  /** Returns the program that prepared sources get. @throws MayflyError host_unavailable when it is not built */
  gate(): Promise<Gate>;
  state: StateDir;
  /** Binding of this folder to this machine. */
  installation: Installation;
  /** Identity in the worker's observations. */
  observer: Observer;
  /** Signs requests to the control worker. */
  signer: RequestSigner;
  /** True when Mayfly's own libvirtd had to be started: then it ran nothing before. */
  isNew: boolean;
  /** Restarts Mayfly's own libvirtd if it has died. @throws MayflyError host_unavailable */
  revive(): Promise<void>;
  mendRules: OpenHypervisor['mendRules'];
  /** Closes the machine; sandboxes, and Mayfly's own libvirtd, keep running. */
  close(): Promise<void>;
  /**
   * Makes {@link close} end what this installation alone started, with all that runs there: later nothing would watch
   * and restart it.
   */
  endOnClose(): void;
}

/**
 * Opens this machine for its one host worker.
 * @param open `@default` the hypervisor that the configuration names
 * @throws MayflyError host_unavailable when another worker serves the same folder, or the hypervisor does not answer;
 * another_installation when the folder belongs to another machine
 */
export async function openHostMachine(
  config: Config,
  failpoints: Failpoints,
  open: typeof openHypervisor = openHypervisor,
): Promise<HostMachine> {
  const state = new StateDir(config.stateDir);
  await makeSearchable(state.root);
  const lock = await HostLock.take(state.root); // one process per folder counts admission
  try {
    const known = await readInstallation(state);
    const { hypervisor, found, ...opened } = await open(config, state, failpoints, known);
    const requestKey = await RequestKey.open(state.root);
    const installation = await saveInstallation(state, known, found, requestKey.publicKey);
    const observer = observerOf(config, installation);
    const { hostId, installationId } = observer;
    const ledger = new Ledger(state, config.diskOvercommit);
    const credentials = new Credentials(state);
    await ledger.open();
    await credentials.open();
    const sourceReads = new SourceReads({ hypervisor, credentials });
    let endsOnClose = false;
    return {
      hypervisor,
      ledger,
      credentials,
      sourceReads,
      gate: loadGate,
      state,
      installation,
      observer,
      signer: requestKey.signer({ process: 'host', hostId, installationId }),
      isNew: opened.isNew,
      revive: () => opened.revive(),
      mendRules: () => opened.mendRules(),
      endOnClose: () => {
        endsOnClose = true;
      },
      async close() {
        sourceReads.closeAll();
        try {
          if (endsOnClose) await opened.end();
          await hypervisor.close();
        } finally {
          await lock.release();
        }
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

function observerOf({ hostId }: Config, { id: installationId, kind, hostUuid }: Installation): Observer {
  return { hostId, installationId, kind, hostUuid };
}

/** @throws MayflyError host_unavailable */
export function getRootProgram(): string {
  const path = guestBinaries()?.root;
  if (path) return path;
  const why = 'What makes machines of root file systems is not built on this host; run `npm run setup`.';
  throw new MayflyError('host_unavailable', why);
}

async function loadGate(): Promise<Gate> {
  const path = guestBinaries()?.gate;
  if (path) return readGate(path);
  throw new MayflyError('host_unavailable', 'The gate for sources is not built on this host; run `npm run setup`.');
}
