import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentSession } from '../../../host/guest/agent-session.ts';
import { GuestConnections } from '../../../host/guest/connections.ts';
import type { Identity } from '../../../host/guest/dial.ts';
import { CERTIFICATE_FILE } from '../../../host/ssh/credentials.ts';
import type { StepContext } from '../../../host/step-context.ts';
import type { SshEndpoint } from '../../../model/sandbox/sandbox.ts';
import { guestBinaries } from '../../../worker/config/artifacts.mjs';
import { stepContext, TestMachine } from '../simulated/machine.ts';

/** Returns the agent built by set-up. */
export function builtAgent(): { version: string; path: string } {
  const built = guestBinaries();
  if (!built) throw new Error('The guest agent is not built: run `node scripts/setup.mjs --only guest`.');
  return { version: built.version, path: built.agent };
}

/** Reads a whole file of the guest through its agent. */
export async function readGuestFile(agent: AgentSession, path: string): Promise<string> {
  const query = Buffer.from(path).toString('base64url');
  const { status, body } = await agent.request({ method: 'GET', path: `/v1/files?path=${query}` });
  const text = Buffer.concat(await body.toArray()).toString();
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return text;
}

/** Simulated host with connections to its guests. */
export class GuestMachine {
  readonly identities = new Map<string, Identity>();
  readonly guests: GuestConnections;
  /** Number of requested certificates. */
  renewals = 0;

  private constructor(readonly host: TestMachine) {
    const { hypervisor, credentials } = host;
    this.guests = new GuestConnections({
      hypervisor,
      credentials,
      agent: builtAgent(),
      identify: (id) => {
        const identity = this.identities.get(id);
        return identity ? Promise.resolve(identity) : Promise.reject(new Error(`nobody knows ${id}`));
      },
      renew: async (id) => {
        this.renewals++;
        await host.certify(id);
        return readFile(join(credentials.directory(id), CERTIFICATE_FILE), 'utf8');
      },
    });
  }

  static async start(): Promise<GuestMachine> {
    return new GuestMachine(await TestMachine.start());
  }

  /** Boots a sandbox with credentials and a verified login. */
  async boot(sandboxId: string): Promise<SshEndpoint> {
    const endpoint = await this.host.boot(sandboxId);
    await this.host.certify(sandboxId);
    await this.host.verify(endpoint, sandboxId);
    this.identities.set(sandboxId, { user: endpoint.user, hostKey: endpoint.hostKey, verified: true });
    return endpoint;
  }

  agent(sandboxId: string, context: StepContext = stepContext()): Promise<AgentSession> {
    return this.guests.agent(sandboxId, context);
  }

  async stop(): Promise<void> {
    this.guests.closeAll();
    await this.host.stop();
  }
}
