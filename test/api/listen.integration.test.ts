import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkAddresses, listen } from '../../services/listen.ts';

const API = { address: '127.0.0.1', setting: 'MAYFLY_API_PORT' };
const INGRESS = { address: '127.0.0.1', setting: 'MAYFLY_INGRESS_PORT' };

/** Foreign program, and its port. */
const other = createServer();
let port: number;

beforeEach(async () => {
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  ({ port } = other.address() as AddressInfo);
});
afterEach(() => void other.close());

const refusal = (message: string) => ({ code: 'port_unavailable', message });

test('a port in use by another program is reported with its setting and address', async () => {
  const taken = refusal(`Another program listens at 127.0.0.1:${port} (MAYFLY_API_PORT).`);
  await expect(listen(createServer(), { ...API, port })).rejects.toMatchObject(taken);
  await expect(checkAddresses([{ ...API, port }])).rejects.toMatchObject(taken);
});

test('all unavailable addresses are reported at once, and the others stay free', async () => {
  const free = createServer();
  const freePort = await listen(free, { ...API, port: 0 });
  free.close();
  await once(free, 'close');
  const places = [
    { ...API, port: freePort },
    { ...INGRESS, port },
    { setting: 'MAYFLY_RELAY_PORT', address: '192.0.2.1', port: 7998 },
    { setting: 'MAYFLY_HOOKS_PORT', address: '127.0.0.1', port: freePort },
    { setting: 'MAYFLY_PROXY_PORT', address: '127.0.0.1', port: 0 },
  ];
  const told = [
    `Another program listens at 127.0.0.1:${port} (MAYFLY_INGRESS_PORT)`,
    '192.0.2.1:7998 (MAYFLY_RELAY_PORT) cannot be listened at: MAYFLY_RELAY_ADDRESS is no address of this machine',
    `127.0.0.1:${freePort} (MAYFLY_HOOKS_PORT) is the port of MAYFLY_API_PORT, too`,
  ];
  await expect(checkAddresses(places)).rejects.toMatchObject(refusal(`${told.join('; ')}.`));
  await checkAddresses([{ ...API, port: freePort }]);
});
