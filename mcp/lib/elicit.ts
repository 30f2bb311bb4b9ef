import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Approval } from '../../clients/typescript/http/openapi.ts';
import { ApprovalNeededError } from '../../clients/typescript/http/problem.ts';
import { toVisibleJson } from '../../model/approvals/visible-text.ts';
import type { Call } from './call.ts';
import { maskText, ToolError } from './error-text.ts';
import type { ApprovalPresentation, ElicitationState } from './showing.ts';

/** Time to wait for the user, and then for the decision, s: both, and a create, fit into a client's timeout. */
const ANSWER_SECONDS = 20;
/** Maximum characters shown of a request. */
const SHOWN = 1_000;
const NAME = 'approval';

/**
 * Runs a call that may need approval. If so, shows the request to the caller's user, who cannot decide there but gets
 * the page to log in; then waits briefly.
 * @returns the elicitation for a client of 2026-07-28
 * @throws ApprovalNeededError when the request is still undecided by then
 */
export async function withApproval<T>(
  call: Call,
  context: ServerContext,
  { showing, capabilities }: { showing: ApprovalPresentation; capabilities: ClientCapabilities | undefined },
  run: () => Promise<T>,
): Promise<T | InputRequiredResult> {
  const { mcpReq } = context;
  const shown = mcpReq.requestState<ElicitationState>();
  if (typeof shown === 'object') {
    const response = inputResponse(mcpReq.inputResponses, NAME);
    return afterAnswer(call, shown, response.kind === 'elicit' ? response.action : 'cancel', run);
  }
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ApprovalNeededError)) throw error;
    const { approval, idempotencyKey } = error;
    const asked = { approvalId: approval.id, idempotencyKey };
    call.undoneBy(() => call.client.approvals.withdraw(approval.id));
    const mode = modeOf(mcpReq.envelope ? getDeclaredCapabilities(mcpReq) : capabilities);
    if (!mode) throw error;
    const params = paramsOf(mode, error, showing.pageOf(approval.id));
    if (mcpReq.envelope) {
      const inputRequests = {
        [NAME]: params.mode === 'url' ? inputRequired.elicitUrl(params) : inputRequired.elicit(params),
      };
      return inputRequired({ inputRequests, requestState: await showing.codec.mint(asked) });
    }
    const answer = await mcpReq.elicitInput(params, { timeout: ANSWER_SECONDS * 1_000 }).catch(() => null);
    call.signal.throwIfAborted();
    if (!answer) throw error;
    return afterAnswer(call, asked, answer.action, run);
  }
}

async function afterAnswer<T>(
  call: Call,
  { approvalId, idempotencyKey }: ElicitationState,
  action: 'accept' | 'decline' | 'cancel',
  run: () => Promise<T>,
): Promise<T> {
  const { approvals } = call.client;
  if (action === 'decline') {
    await approvals.withdraw(approvalId, { signal: call.signal });
    throw new ToolError(`Nothing was begun: your user declined, and ${approvalId} is withdrawn.`, 'do without it.');
  }
  call.goesOnAs(idempotencyKey);
  if (action === 'accept') {
    const approval: Approval = await approvals.get(approvalId, {
      waitSeconds: ANSWER_SECONDS,
      signal: call.signal,
    });
    call.tell(`${approval.id} is ${approval.state}`);
  }
  return run();
}

type Mode = 'url' | 'form';

/** Returns the mode of elicitation; a client that declares none supports forms, as before modes. */
function modeOf(capabilities: ClientCapabilities | undefined): Mode | null {
  const elicitation = capabilities?.elicitation;
  if (!elicitation) return null;
  if (elicitation.url) return 'url';
  return elicitation.form || Object.keys(elicitation).length === 0 ? 'form' : null;
}

function getDeclaredCapabilities({ envelope }: ServerContext['mcpReq']): ClientCapabilities | undefined {
  const declared: Readonly<Record<string, unknown>> = envelope ?? {};
  return declared[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined; // the SDK has validated it
}

/** Builds the elicitation. Its form has no field: a client's input never decides. */
function paramsOf(mode: Mode, { approval, message: why }: ApprovalNeededError, page: string) {
  const { id, action, request, digest, expiresAt } = approval;
  const what = toVisibleJson(request);
  const asked = what.length > SHOWN ? `${what.slice(0, SHOWN)}… (${page} has all of it)` : what;
  const how = `Who has ${approval.role} decides at ${page}, or with: mayfly approval approve ${id} --digest ${digest}`;
  const message = maskText(`${action}: ${asked}\n${why}. Nothing is begun before; it expires at ${expiresAt}.\n${how}`);
  if (mode === 'url') return { mode, message, url: page, elicitationId: id } satisfies ElicitRequestURLParams;
  return { mode, message, requestedSchema: { type: 'object', properties: {} } } satisfies ElicitRequestFormParams;
}
