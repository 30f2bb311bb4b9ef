import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { HostMachine } from '../../worker/machine/host-machine.ts';
import type { MayflyCase } from './mayfly-case.ts';
import type { TestOperations } from './operations.ts';

/** Creates a hibernated sandbox. */
export async function hibernated(mayfly: MayflyCase, operations: TestOperations, autoResume: boolean): Promise<string> {
  const { id } = await mayfly.create(mayfly.input({ autoResume }));
  expect(await operations.hibernate(id)).toBeNull();
  expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated', waitingFor: null });
  return id;
}

/** Returns the memory that the host's ledger reserves for the sandbox, MiB. */
export async function readReservedMib({ state }: Pick<HostMachine, 'state'>, id: string): Promise<number> {
  const { memoryMib } = JSON.parse(await readFile(state.reservationOf(id), 'utf8')) as { memoryMib: number };
  return memoryMib;
}

/** Returns the kinds of a sandbox's audit entries, in order. */
export const kindsOf = async (operations: TestOperations, id: string) =>
  (await operations.told(id)).map(({ kind }) => kind);

/** Returns the status and error code of a refusal. */
export const refusalOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
];
