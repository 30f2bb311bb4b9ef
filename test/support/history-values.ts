import type { Client } from '@temporalio/client';
import type { LoadedDataConverter, Payload } from '@temporalio/common';
import { isEncrypted } from '../../worker/payloads/payload-codec.ts';

/** Returns all of Mayfly's values in a workflow's history, decrypted. */
export async function valuesInHistory({ workflow, options }: Client, workflowId: string): Promise<unknown[]> {
  const { events } = await workflow.getHandle(workflowId).fetchHistory();
  return Promise.all(payloadsIn(events).map((each) => decoded(options.loadedDataConverter, each)));
}

function payloadsIn(value: unknown): Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) return [value as Payload];
  return Object.values(value).flatMap(payloadsIn);
}

async function decoded({ payloadCodecs, payloadConverter }: LoadedDataConverter, payload: Payload): Promise<unknown> {
  if (!isEncrypted(payload)) return [payloadConverter.fromPayload(payload)]; // Temporal's own
  let opened = [payload];
  for (const codec of payloadCodecs.toReversed()) opened = await codec.decode(opened);
  return opened.map((each) => payloadConverter.fromPayload(each));
}
