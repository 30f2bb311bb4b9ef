import type { CallOptions } from './http/deadline.ts';
import { followEvents } from './http/event-stream.ts';
import type { Approval, Policy, PolicyRule } from './http/openapi.ts';
import { type OptionsOf, Resource } from './http/resource.ts';

/** Requests that wait for approval, and the rules that require it. */
export class Approvals extends Resource {
  /** Newest first. */
  readonly list = this.ask('GET /v1/approvals');
  readonly approve = this.send('POST /v1/approvals/{id}/approve');
  readonly refuse = this.send('POST /v1/approvals/{id}/refuse');
  /** For the author of the request. */
  readonly withdraw = this.ask('POST /v1/approvals/{id}/withdraw');
  readonly policy = this.ask('GET /v1/policies');
  readonly #get = this.ask('GET /v1/approvals/{id}');

  /** Returns an approval at once; with a wait, when it is decided. @param options.waitSeconds `@default` 0 */
  get(id: string, options: OptionsOf<'GET /v1/approvals/{id}'> = {}): Promise<Approval> {
    return this.#get(id, { waitSeconds: 0, ...options });
  }

  /**
   * Yields pending approvals, then each approval as it changes, until `signal`. After a reconnect a change may come
   * twice.
   * @param options.project another than the own one, for operators
   */
  async *watch(options: CallOptions & { project?: string } = {}): AsyncGenerator<Approval, void, undefined> {
    const { project, ...stream } = options;
    const path = project === undefined ? EVENTS : `${EVENTS}?project=${encodeURIComponent(project)}`;
    const isOver = () => Promise.resolve(false);
    for await (const { event, data } of followEvents(this.transport, path, isOver, stream)) {
      if (event === 'approval') yield JSON.parse(data) as Approval;
    }
  }

  /** Sets all rules. @param options.version expected current version; `policy_changed` for any other. `@default` any */
  setPolicy(
    rules: readonly PolicyRule[],
    { project, version, ...options }: OptionsOf<'PUT /v1/policies'> & { version?: number } = {},
  ): Promise<Policy> {
    const headers: Record<string, string> = version === undefined ? {} : { 'if-match': `"${version}"` };
    const request = { method: 'PUT', path: '/v1/policies', query: { project }, body: { rules }, headers } as const;
    return this.transport.json(request, options);
  }
}

const EVENTS = '/v1/approvals/events';
