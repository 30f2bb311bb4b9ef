import { beforeAll, expect, it } from 'vitest';
import { loadFirewall, removeFirewall } from '../../../host/libvirt/network/firewall.ts';
import type { NetworkPlans } from '../../../host/libvirt/network/network-plan.ts';
import { exec } from '../../../host/os/exec.ts';

const PLANS: NetworkPlans = {
  isolated: { name: 'rules', bridge: 'mfrules0', subnet: '10.99.0.0/24' },
  internet: { name: 'rules-internet', bridge: 'mfrules1', subnet: '10.99.1.0/24' },
  dnsServers: ['192.0.2.1'],
};
const TABLE = 'mayfly_mfrules0';

beforeAll(() => {
  if (!process.env['MAYFLY_TEST_NETNS']) throw new Error('Run this with npm test, which makes a network namespace.');
});

async function tables(): Promise<string> {
  return (await exec('nft', ['list', 'tables'])).stdout;
}

it('the kernel accepts the rules, repeatedly, and they can be removed', async () => {
  await exec('nft', ['add', 'table', 'inet', 'of_somebody_else']);
  try {
    await loadFirewall(PLANS);
    await loadFirewall({ ...PLANS, dnsServers: [] });
    const { stdout } = await exec('nft', ['list', 'table', 'inet', TABLE]);
    expect(stdout).toContain('iifname "mfrules1" ip daddr != {');
    expect(stdout).not.toContain('192.0.2.1');
    await removeFirewall(PLANS.isolated.bridge);
    await removeFirewall(PLANS.isolated.bridge);
    expect(await tables()).not.toContain(TABLE);
    expect(await tables()).toContain('of_somebody_else');
  } finally {
    await exec('nft', ['delete', 'table', 'inet', 'of_somebody_else']);
    await removeFirewall(PLANS.isolated.bridge);
  }
});
