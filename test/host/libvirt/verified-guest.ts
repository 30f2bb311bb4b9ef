import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UserCa } from '../../../ca/user-ca.ts';
import { GuestConnections } from '../../../host/guest/connections.ts';
import type { Clone } from '../../../host/hypervisor.ts';
import { CERTIFICATE_FILE, Credentials } from '../../../host/ssh/credentials.ts';
import { verifySsh } from '../../../host/ssh/verify.ts';
import { ID_BYTES, sandboxIdFrom } from '../../../model/ids.ts';
import { useOpened } from '../../support/use-opened.ts';
import { builtAgent } from '../guest/machine.ts';
import { stepContext } from './living-guest.ts';
import { startMachine, type TestMachine } from './machine.ts';

/** Function that makes the disk of a guest, and starts it. */
type Begin = (machine: TestMachine, sandboxId: string, userCaKeys: string[]) => Promise<Clone>;

const wake: Begin = ({ booted }, sandboxId, userCaKeys) => booted.wake(sandboxId, userCaKeys);

/** Starts a machine with one guest, logs in to it, and connects to its agent, for the tests of a file. */
export function useVerifiedGuest(begin = wake) {
  const sandboxId = sandboxIdFrom(randomBytes(ID_BYTES));
  const guest = useOpened(
    async () => {
      const machine = await startMachine();
      const ca = await UserCa.open(join(machine.state.root, 'ca'));
      const credentials = new Credentials(machine.state);
      await credentials.open();
      let serial = 0n;
      const sign = (publicKey: string) => {
        const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
        return ca.sign({ sandboxId, publicKey, actor, source: machine.source, serial: ++serial });
      };
      const renew = async () => {
        const { publicKey } = await credentials.makeCredentials(sandboxId);
        await credentials.storeCertificate(sandboxId, (await sign(publicKey)).certificate);
        return readFile(join(credentials.directory(sandboxId), CERTIFICATE_FILE), 'utf8');
      };
      const { user, hostKey } = await begin(machine, sandboxId, await ca.publicKeys());
      const { address, port } = await machine.host.awaitLease(sandboxId, stepContext());
      await renew();
      const endpoint = { address, port, user, hostKey };
      (await verifySsh({ endpoint, credentialsDir: credentials.directory(sandboxId), ...stepContext() })).end();
      const identify = () => Promise.resolve({ user, hostKey, verified: true });
      const guests = new GuestConnections({
        hypervisor: machine.host,
        credentials,
        agent: builtAgent(),
        identify,
        renew,
      });
      return { machine, ca, sign, endpoint, guests };
    },
    async ({ machine, guests }) => {
      guests.closeAll();
      await machine.end();
    },
  );
  return { sandboxId, guest };
}
