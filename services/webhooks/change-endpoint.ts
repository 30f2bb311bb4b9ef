import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { type EndpointRecord, validSecrets, type WebhookSignature } from '../../model/webhooks/endpoint.ts';
import { requireEndpoint, type ServiceDeps } from '../service-deps.ts';
import { newKeyPair, newSecret } from './signing/standard-key.ts';

const { webhooks: limits } = LIMITS;
type CreateEndpointRequest = Pick<EndpointRecord, 'url' | 'types' | 'format' | 'signature'>;
type ChangeEndpointRequest = { [K in 'url' | 'types' | 'format']?: EndpointRecord[K] | undefined } & {
  disabled?: boolean | undefined;
};

const WORKING = { disabledAt: null, disabledFor: null, failingSince: null, slowUntil: null, slowed: 0 } as const;

export function wantedEndpoint(id: string, createdBy: Actor, request: CreateEndpointRequest): EndpointRecord {
  const at = new Date().toISOString();
  const { url, types, format, signature } = request;
  return {
    id,
    project: createdBy.project,
    url,
    types: [...new Set(types)],
    format,
    signature,
    secrets: [{ key: newKey(signature), until: null }],
    ...WORKING,
    createdBy,
    createdAt: at,
    updatedAt: at,
  };
}

/** @throws MayflyError endpoints_full */
export async function assertEndpointLimit({ store }: ServiceDeps): Promise<void> {
  if ((await store.webhookEndpoints.list()).length >= limits.endpoints) throw full();
}

/** Records an endpoint. Idempotent. @throws MayflyError endpoints_full when concurrent requests came first */
export async function recordEndpoint({ store }: ServiceDeps, endpoint: EndpointRecord): Promise<EndpointRecord> {
  if (!(await store.webhookEndpoints.create(endpoint))) {
    return (await store.webhookEndpoints.get(endpoint.id)) ?? endpoint;
  }
  const place = (await store.webhookEndpoints.list()).findIndex(({ id }) => id === endpoint.id);
  if (place < limits.endpoints) return endpoint;
  await store.webhookEndpoints.remove(endpoint.id);
  throw full();
}

/** Changes an endpoint. A re-enabled one starts without its earlier failures. @throws MayflyError endpoint_not_found */
export async function changedEndpoint(
  deps: ServiceDeps,
  { id, disabledAt: wasDisabled }: EndpointRecord,
  { url, types, format, disabled }: ChangeEndpointRequest,
): Promise<EndpointRecord> {
  const at = new Date().toISOString();
  const switched = disabled ? ({ disabledAt: wasDisabled ?? at, disabledFor: 'request' } as const) : WORKING;
  await deps.store.webhookEndpoints.change(id, {
    ...(url !== undefined && { url }),
    ...(types !== undefined && { types: [...new Set(types)] }),
    ...(format !== undefined && { format }),
    ...(disabled !== undefined && switched),
    updatedAt: at,
  });
  return requireEndpoint(deps, id);
}

/**
 * Rotates the key. Of two concurrent rotations the later key is the newest, and the other stays valid for the rotation
 * period.
 * @throws MayflyError endpoint_not_found
 */
export async function rotateEndpointKey(deps: ServiceDeps, id: string): Promise<EndpointRecord> {
  for (;;) {
    const endpoint = await requireEndpoint(deps, id);
    const now = Date.now();
    const until = new Date(now + limits.rotationHours * 3_600_000).toISOString();
    const before = validSecrets(endpoint, now).map((secret) => ({ ...secret, until: secret.until ?? until }));
    const secrets = [{ key: newKey(endpoint.signature), until: null }, ...before].slice(0, limits.secrets);
    const updatedAt = new Date(Math.max(now, Date.parse(endpoint.updatedAt) + 1)).toISOString();
    const seen = { updatedAt: endpoint.updatedAt };
    if (await deps.store.webhookEndpoints.change(id, { secrets, updatedAt }, seen)) {
      return { ...endpoint, secrets, updatedAt };
    }
  }
}

function newKey(signature: WebhookSignature): string {
  return signature === 'v1' ? newSecret() : newKeyPair().secretKey;
}

function full(): MayflyError {
  return new MayflyError('endpoints_full', `The project has ${limits.endpoints} webhook endpoints.`);
}
