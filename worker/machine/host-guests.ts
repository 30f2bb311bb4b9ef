import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { CommandRuns } from '../../host/exec/command-runs.ts';
import { GuestConnections } from '../../host/guest/connections.ts';
import type { Identity } from '../../host/guest/dial.ts';
import { commandsRoute } from '../../host/relay/commands.ts';
import { portsRoute } from '../../host/relay/ports.ts';
import { type ResidueRemoval, residueRoute } from '../../host/relay/residue.ts';
import { sandboxAgentRoute } from '../../host/relay/sandbox-agent.ts';
import { type Relay, startRelay } from '../../host/relay/server.ts';
import { snapshotsRoute } from '../../host/relay/snapshots.ts';
import { sourceRoute } from '../../host/relay/source-route.ts';
import { SourceRelay } from '../../host/relay/sources.ts';
import { MayflyError } from '../../model/errors.ts';
import type { CertificateInput } from '../../model/sandbox/certificate-saga.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { guestBinaries } from '../config/artifacts.mjs';
import type { Config } from '../config/config.ts';
import type { HostMachine } from './host-machine.ts';
import { CommandRecovery } from './open-commands.ts';

interface HostGuestsDeps {
  config: Config;
  machine: HostMachine;
  store: Store;
  client: Client;
  logger: Logger;
  removal: ResidueRemoval;
}

/** Access of a host worker to its sandboxes: connections, commands, and the relay for the API. */
export class HostGuests {
  readonly guests: GuestConnections;
  readonly commandRuns: CommandRuns;
  readonly #deps: HostGuestsDeps;
  readonly #openCommands: CommandRecovery;
  #relay: Relay | null = null;

  /** @throws MayflyError host_unavailable when the agent is not built */
  constructor(deps: HostGuestsDeps) {
    const { machine, store, logger } = deps;
    const { hypervisor, credentials } = machine;
    this.#deps = deps;
    this.guests = new GuestConnections({
      hypervisor,
      credentials,
      agent: builtAgent(),
      identify: (sandboxId) => identify(store, sandboxId),
      renew: (sandboxId) => this.#renew(sandboxId),
    });
    this.commandRuns = new CommandRuns({ store, hypervisor, guests: this.guests, logger });
    this.#openCommands = new CommandRecovery({
      observer: machine.observer,
      store,
      commandRuns: this.commandRuns,
      logger,
    });
  }

  /** Resumes the running commands, and starts the relay for the API. */
  async open(): Promise<void> {
    const { config, machine, store, logger, removal } = this.#deps;
    const { guests, commandRuns } = this;
    await this.#openCommands.start();
    this.#relay = await startRelay({
      ...config.relay,
      routes: {
        commands: commandsRoute({ store, guests, commandRuns }),
        sandboxes: sandboxAgentRoute(guests),
        ports: portsRoute(guests),
        snapshots: snapshotsRoute(machine.hypervisor.snapshots),
        residue: residueRoute(removal),
        sources: sourceRoute(this.#sourceRelay()),
      },
      logger,
    });
    const { url, key } = this.#relay;
    await store.relays.announce(config.hostId, { url, key: key.toString('hex') });
  }

  /** Commands keep running; the next worker resumes them. */
  async close(): Promise<void> {
    await this.commandRuns.stop();
    await this.#openCommands.stop();
    this.guests.closeAll();
    await this.#relay?.close();
  }

  #sourceRelay(): SourceRelay {
    const { config, machine, store } = this.#deps;
    const certify = (sourceId: string, publicKey: string) => this.#certify(sourceId, publicKey);
    return new SourceRelay({ hostId: config.hostId, store, sourceReads: machine.sourceReads, certify });
  }

  /** Issues a certificate for the existing key. */
  async #renew(sandboxId: string): Promise<string> {
    const publicKey = await this.#deps.machine.credentials.publicKey(sandboxId);
    if (publicKey === null) {
      throw new MayflyError('sandbox_ended', `This host has no key to ${sandboxId} any more: it is being ended.`);
    }
    return this.#certify(sandboxId, publicKey);
  }

  /** Requests the certificate by Temporal, since the control worker has the CA. */
  async #certify(sandboxId: string, publicKey: string): Promise<string> {
    const input: CertificateInput = { sandboxId, publicKey, purpose: 'host', actor: null, ttlSeconds: null };
    const { certificates } = new ControlTemporalClient(this.#deps.client, this.#deps.machine.signer);
    return (await certificates.issue(randomUUID(), input)).certificate;
  }
}

function builtAgent(): { version: string; path: string } {
  const built = guestBinaries();
  if (built) return { version: built.version, path: built.agent };
  throw new MayflyError('host_unavailable', 'The agent for guests is not built on this host; run `npm run setup`.');
}

async function identify(store: Store, sandboxId: string): Promise<Identity> {
  const record = await store.sandboxes.get(sandboxId);
  if (!record) throw new MayflyError('sandbox_not_found', `There is no sandbox ${sandboxId}.`);
  const { state, phase, ssh } = record;
  if ((state === 'running' || state === 'warm' || phase === 'renewing-trust') && ssh)
    return { user: ssh.user, hostKey: ssh.hostKey, verified: true };
  const code = isFinal(state) || state === 'destroying' ? 'sandbox_ended' : 'sandbox_not_running';
  throw new MayflyError(code, `The sandbox ${sandboxId} is ${state}.`);
}
