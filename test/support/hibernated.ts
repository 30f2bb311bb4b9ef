import { expect } from 'vitest';
import type { MayflyCase } from './mayfly-case.ts';
import type { TestOperations } from './operations.ts';

/** A sandbox that is hibernated. */
export async function hibernated(mayfly: MayflyCase, operations: TestOperations, autoResume: boolean): Promise<string> {
  const { id } = await mayfly.create(mayfly.input({ autoResume }));
  expect(await operations.hibernate(id)).toBeNull();
  expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated', waitingFor: null });
  return id;
}

/** The kinds of what the audit trail says of it, in order. */
export const kindsOf = async (operations: TestOperations, id: string) =>
  (await operations.told(id)).map(({ kind }) => kind);

/** Status and error code of a refusal. */
export const refusalOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
];
