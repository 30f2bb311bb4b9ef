import type { ApprovalState, ShownApproval } from '../model/approvals/approval.ts';
import type { Policy, PolicyRule } from '../model/approvals/policy.ts';
import { followEvents } from './http/event-stream.ts';
import type { Page, PageOptions, WaitOptions } from './http/options.ts';
import { prefer } from './http/paths.ts';
import type { CallOptions, Transport } from './http/transport.ts';

/** Someone asks for what a policy does not let be done without somebody else's leave. */
export type Approval = ShownApproval;

export interface Decision {
  /** Of what was read: it decides on that and on nothing else. */
  digest: string;
  /** `@default` none */
  reason?: string;
  /** Who decides, where that is an agent. `@default` nobody is named */
  agentId?: string;
}

/** A rule as it is set. */
export type PolicyRuleWish = Omit<PolicyRule, 'role' | 'expiresSeconds'> &
  Partial<Pick<PolicyRule, 'role' | 'expiresSeconds'>>;

/** Version 0: none was ever set. */
export interface ProjectPolicy extends Omit<Policy, 'createdBy' | 'createdAt'> {
  /** Whether it can be read: it denies otherwise, and has no rules here. */
  isReadable: boolean;
  createdBy: Policy['createdBy'] | null;
  createdAt: string | null;
}

/** Requests that wait for somebody's leave, and the rules that ask for it. Throws as {@link MayflyClient} does. */
export class Approvals {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. */
  list(options: PageOptions & { state?: ApprovalState; project?: string } = {}): Promise<Page<Approval>> {
    const { limit, cursor, state, project } = options;
    return this.#transport.json({ method: 'GET', path: ALL, query: { limit, cursor, state, project } }, options);
  }

  /** As it is; with a wait, when it is decided. @param options.waitSeconds `@default` 0 */
  get(id: string, options: WaitOptions & CallOptions = {}): Promise<Approval> {
    const headers = prefer(options.waitSeconds ?? 0);
    return this.#transport.json({ method: 'GET', path: pathOf(id), headers }, options);
  }

  /**
   * What waits, then each approval as it changes, until `signal`; a broken connection is taken up again, and what changed just
   * before may come once more.
   * @param options.project another than the own one, for operators
   */
  async *watch(options: CallOptions & { project?: string } = {}): AsyncGenerator<Approval, void, undefined> {
    const { project, signal } = options;
    const path = project === undefined ? EVENTS : `${EVENTS}?project=${encodeURIComponent(project)}`;
    const isOver = () => Promise.resolve(false);
    for await (const { event, data } of followEvents(this.#transport, path, isOver, signal ? { signal } : {})) {
      if (event === 'approval') yield JSON.parse(data) as Approval;
    }
  }

  approve(id: string, decision: Decision, options: CallOptions = {}): Promise<Approval> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/approve`, body: decision }, options);
  }

  refuse(id: string, decision: Decision, options: CallOptions = {}): Promise<Approval> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/refuse`, body: decision }, options);
  }

  /** By who asks. */
  withdraw(id: string, options: CallOptions = {}): Promise<Approval> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/withdraw` }, options);
  }

  /** @param options.project another than the own one, for operators */
  policy(options: CallOptions & { project?: string } = {}): Promise<ProjectPolicy> {
    const { project } = options;
    return this.#transport.json({ method: 'GET', path: POLICY, query: { project } }, options);
  }

  /**
   * Sets all rules.
   * @param options.version the version that is changed: another one meanwhile is `policy_changed`. `@default` whichever there is
   */
  setPolicy(
    rules: readonly PolicyRuleWish[],
    options: CallOptions & { project?: string; version?: number } = {},
  ): Promise<ProjectPolicy> {
    const { project, version } = options;
    const headers: Record<string, string> = version === undefined ? {} : { 'if-match': `"${version}"` };
    return this.#transport.json({ method: 'PUT', path: POLICY, query: { project }, body: { rules }, headers }, options);
  }
}

const ALL = '/v1/approvals';
const EVENTS = `${ALL}/events`;
const POLICY = '/v1/policies';

function pathOf(id: string): string {
  return `${ALL}/${encodeURIComponent(id)}`;
}
