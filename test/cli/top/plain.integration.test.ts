import { afterAll, beforeAll, expect, it } from 'vitest';
import { runLine } from '../run-line.ts';
import { manySandboxes, TopStandIn } from './top-stand-in.ts';

let api: TopStandIn;
beforeAll(async () => {
  api = await TopStandIn.start();
});
afterAll(() => api.stop());

it('prints tables, or one JSON document', async () => {
  const [, , ...rest] = manySandboxes(250);
  api.sandboxes = [
    ...manySandboxes(1, { name: 'x\u001b[2J', state: 'destroying', waitingFor: 'host kvm-2 to come back' }),
    ...manySandboxes(2, { state: 'destroyed', phase: null }).slice(1),
    ...rest,
  ];
  const once = await runLine(api.server, ['top']);
  expect([once.code, once.out.includes('\u001b'), once.out.includes('sbx-0000000000000249')]).toEqual([0, false, true]);
  expect(once.out).toMatch(/^sagas 1\n.*\n.*waits? ?for|^sagas 1$/im);
  expect(once.out).toContain('waits for host kvm-2 to come back');
  expect(once.out).toContain('no proof');
  const json = await runLine(api.server, ['top', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({
    sagas: [{ sandboxId: 'sbx-0000000000000000', waitingFor: 'host kvm-2 to come back' }],
    pools: [],
    residue: [{ what: 'waits for host kvm-2 to come back' }, { what: 'no proof' }],
  });
  expect((await runLine(api.server, ['top', '--nope'])).code).toBe(2);
});
