// Guards: advice on the guest agent is given only for machines not made by Mayfly.
import { expect, it } from 'vitest';
import { type Virsh, VirshError } from '../../../host/libvirt/client/virsh.ts';
import { AgentConsole } from '../../../host/libvirt/guest/agent-console.ts';
import { MayflyError } from '../../../model/errors.ts';

const SILENT = 'error: Guest agent is not responding: QEMU guest agent is not connected';
const ERRORS = [
  new VirshError('qemu-agent-command', SILENT, { result: 'ok' }, null),
  new MayflyError('host_unavailable', SILENT),
];

it.each([
  ['a domain of somebody', 'web-server', true],
  ['a sandbox', 'sbx-0123456789abcdef', false],
  ["an image of Mayfly's own", 'golden-debian12', false],
  ['an image that is pulled', 'golden-agent', false],
])('%s with a silent agent gets the right advice', async (_what, domain, isAdvised) => {
  for (const error of ERRORS) {
    const virsh = { run: () => Promise.reject(error) } as unknown as Virsh;
    const answer = new AgentConsole(virsh, domain).run(['true']);
    await expect(answer).rejects.toThrow('Its QEMU guest agent does not answer');
    const advised = expect(answer).rejects;
    await (isAdvised ? advised : advised.not).toThrow('install and start qemu-guest-agent');
  }
});
