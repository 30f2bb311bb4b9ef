import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { MayflyClient } from '../../../client/mayfly-client.ts';
import { Ledger, sumOf } from './ledger.ts';

const ID = 'run-0123456789abcdef';
const ATTEMPT = { n: 1, outcome: 'succeeded', startedAt: '2026-01-01T00:00:00Z' };

/** One run of one function, as an installation tells of it. */
function told(printed: string, run: object = {}, accepted = [ID]) {
  const whole = { id: ID, state: 'ended', cleanup: 'proved', attempts: [ATTEMPT], ...run };
  const client = {
    runs: {
      list: async () => ({ items: [whole] }),
      get: async () => whole,
      output: async () => ({ bytes: new Blob([printed]).stream() }),
    },
  };
  const ledger = new Ledger();
  ledger.deployed('hello');
  for (const id of accepted) ledger.accepted(id);
  return ledger.account(client as unknown as MayflyClient);
}

test('a run has as many nonces as started attempts; what is amiss is named', async () => {
  const one = `${randomUUID()}\n`;
  const account = await told(one);
  expect(account).toEqual({
    accepted: 1,
    runs: 1,
    startedAttempts: 1,
    nonces: 1,
    unheard: 0,
    ended: 1,
    proofs: 1,
  });
  expect(sumOf([account, account])).toMatchObject({ accepted: 2, nonces: 2 });
  await expect(told(`${one}${randomUUID()}\n`)).rejects.toThrow('2 processes');
  await expect(told('')).rejects.toThrow('0 processes');
  await expect(told(one, { attempts: [ATTEMPT, { ...ATTEMPT, n: 2 }] })).rejects.toThrow('a nonce twice');
  await expect(told(one, { cleanup: 'pending' })).rejects.toThrow('pending');
  await expect(told(one, { state: 'running' })).rejects.toThrow('is running');
  await expect(told(one, {}, [])).rejects.toThrow('nobody was told of');
  await expect(told(one, {}, [ID, 'run-fedcba9876543210'])).rejects.toThrow('2 accepted, and 1 runs');
  expect(await told('', { attempts: [{ ...ATTEMPT, outcome: 'unknown' }] })).toMatchObject({ nonces: 0, unheard: 1 });
});
