import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';
import { ask } from '../asking.ts';
import type { Stage } from '../stage.ts';

/** Deletes functions with all their data, callers and webhooks, through the API as a user would. */
export async function withoutFunctions({ client }: Stage): Promise<void> {
  for (const { id } of (await ask(() => client.webhookEndpoints.list())).items)
    await unlessGone(() => client.webhookEndpoints.delete(id));
  for (const { name } of (await ask(() => client.schedules.list())).items)
    await unlessGone(() => client.schedules.delete(name));
  for (const { name } of (await ask(() => client.functions.list())).items) {
    const { items } = await ask(() => client.runs.list({ function: name, limit: 100 }));
    for (const { kept } of items) {
      const { snapshotId = null, goneAt = null } = kept ?? {};
      if (snapshotId && !goneAt) await unlessGone(() => client.snapshots.delete(snapshotId, { waitSeconds: 60 }));
    }
    await unlessGone(() => client.functions.delete(name));
  }
}

/** Ignores a 404: the answer of an earlier deletion may have been lost. */
export async function unlessGone(send: () => Promise<unknown>): Promise<void> {
  await ask(send).catch((error: unknown) => {
    if (!(error instanceof MayflyApiError && error.status === 404)) throw error;
  });
}
