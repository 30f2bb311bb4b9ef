import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_LIMITS } from '../../model/project-limits.ts';
import { StandIn } from '../client/stand-in.ts';
import { askedBy } from './run-line.ts';

const GIB = 1_073_741_824;
const ALPHA = {
  id: 'alpha',
  sources: [],
  limits: { ...NO_LIMITS, sandboxes: 10, memoryMib: 20_480 },
  createdAt: 'then',
  deletedAt: null,
};

let server: StandIn;
beforeAll(async () => {
  server = await StandIn.start();
});
afterAll(() => server.stop());

const cli = (args: string[], body: object = ALPHA) => askedBy(server, args, body);

// Promise: the limits of a project are set, lifted and shown as they were given. Costs nothing.
describe('mayfly project', () => {
  it('makes one with sources and limits, in the units of the API', async () => {
    const limits = ['--sandboxes', '10', '--cpus', '40', '--memory-gib', '20', '--disk-gib', '1.5'];
    const rates = ['--creates-per-minute', '30', '--streams', '0'];
    const { code, asked, out } = await cli(['project', 'create', 'alpha', '--source', 'golden', ...limits, ...rates]);
    const wish = {
      sandboxes: 10,
      cpus: 40,
      memoryMib: 20_480,
      diskBytes: 1.5 * GIB,
      createsPerMinute: 30,
      streams: 0,
    };
    expect(asked).toBe(`POST /v1/projects ${JSON.stringify({ id: 'alpha', sources: ['golden'], limits: wish })}`);
    expect([code, out]).toEqual([0, 'alpha may use its own sources; limits: sandboxes 10, memory-gib 20.0 GiB\n']);
  });

  it('changes what is named, and lifts a limit', async () => {
    const { asked } = await cli(['project', 'set', 'alpha', '--cpus', 'none']);
    expect(asked).toBe('PATCH /v1/projects/alpha {"limits":{"cpus":null}}');
  });

  it('shows what it has of what it may have', async () => {
    const used = { sandboxes: 3, cpus: 6, memoryMib: 1_536, diskBytes: GIB, createsLastMinute: 2 };
    const { code, asked, out } = await cli(['project', 'usage', 'alpha'], {
      project: 'alpha',
      ...used,
      limits: ALPHA.limits,
    });
    expect([code, asked]).toEqual([0, 'GET /v1/projects/alpha/usage ']);
    expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['USED', 'LIMIT'],
      ['sandboxes', '3', '10'],
      ['cpus', '6', 'no limit'],
      ['memory-gib', '1.5 GiB', '20.0 GiB'],
      ['disk-gib', '1.0 GiB', 'no limit'],
      ['creates-per-minute', '2', 'no limit'],
      ['streams', '-', 'no limit'],
      [''],
    ]);
  });

  it.each([
    ['set', 'alpha'],
    ['set', 'alpha', '--cpus', '-1'],
    ['set', 'alpha', '--cpus', '1.5'],
    ['set', 'alpha', '--disk-gib', '0'],
    ['set', 'alpha', '--streams', ''],
    ['set', 'alpha', '--sandboxes', '9999999'],
    ['usage'],
  ])('refuses %j %j %j %j', async (...args) => {
    const { code, asked } = await cli(['project', ...args]);
    expect([code, asked]).toEqual([2, undefined]);
  });
});
