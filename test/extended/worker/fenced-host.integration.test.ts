import { expect, test } from 'vitest';
import { connectStore } from '../../../store/connect.ts';
import { HOST_ID, ServedMayfly } from '../../support/served.ts';

test('a host worker that was fenced off exits, and names its successor', async () => {
  const served = await ServedMayfly.start({ MAYFLY_HOST: 'simulated' });
  const store = await connectStore(served.storeUri);
  try {
    const host = await store.hosts.get(HOST_ID);
    if (!host) throw new Error('the host has not described itself');
    const { id, installationId, kind, hostUuid } = host;
    const other = {
      id,
      installationId: 'ins-000000000000000000000000',
      kind,
      hostUuid,
      startedAt: new Date().toISOString(),
    };
    await expect(store.hosts.claim(other)).rejects.toMatchObject({ code: 'host_taken' });
    expect(await store.hosts.claim({ ...other, installationId })).toBe(host.epoch + 1);
    expect(await served.host?.end()).toBe(1);
    expect(served.host?.output).toContain(`Another host worker serves ${HOST_ID} since`);
  } finally {
    await store.close();
    await served.stop();
  }
});
