import type { Context } from 'hono';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { PASSWORD_PATH } from '../../services/desktop/screens.ts';
import { type GuestRequest, refusalOf } from '../../services/guests.ts';
import { inUse } from '../../services/sandboxes/in-use.ts';
import { refuseUnlessAllowed } from '../approvals/permission.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { FilePath } from '../http/file-path.ts';
import { preferenceOf } from '../http/prefer.ts';
import { recordAccess } from '../resources/record-access.ts';
import { sandboxOfPath } from '../resources/sandbox-of-path.ts';
import { awakeSandbox } from '../sandboxes/awake-sandbox.ts';

/** What an access is, in the audit. */
export interface Access {
  kind: Extract<AuditKind, `file.${string}`>;
  operation: 'stat' | 'read' | 'archive' | 'write' | 'unpack' | 'remove' | 'remove-recursive';
}

/** A path in a sandbox that runs, or was made to, after the audit has been told that somebody is about to use it. */
export class FileAccess {
  private constructor(
    readonly path: FilePath,
    private readonly deps: RequestDeps,
    private readonly sandboxId: string,
    private readonly hostId: string,
    private readonly signal: AbortSignal,
  ) {}

  /** @throws MayflyError policy_denied, invalid_request, temporal_unavailable, and as {@link awakeSandbox} */
  static async begin(c: Context<Env>, deps: RequestDeps, sandboxId: string, access: Access): Promise<FileAccess> {
    const path = FilePath.of(c.req.path);
    if (access.kind !== 'file.read') await refuseUnlessWritable(c, deps, sandboxId);
    const { hostId } = await awakeSandbox(c, deps, sandboxId, preferenceOf(c.req.header('prefer')).seconds);
    await deps.store.activity.touch(sandboxId);
    const detail = { path: path.encoded, operation: access.operation };
    await recordAccess(c, deps, sandboxId, { kind: access.kind, hostId, detail });
    return new FileAccess(path, deps, sandboxId, hostId, c.req.raw.signal);
  }

  /**
   * Asks the guest's agent about the path, and returns whatever it answers. Ends when the caller goes away.
   * @param query further parameters of the agent; undefined ones are left out
   */
  async ask(
    method: 'GET' | 'HEAD' | 'PUT' | 'DELETE',
    route: 'files' | 'directory' | 'tar',
    query: Record<string, string | number | undefined> = {},
    init: GuestRequest = {},
  ): Promise<Response> {
    const parameters = new URLSearchParams({
      path: this.path.base64url,
      ...(method === 'GET' && { closed: PASSWORD_PATH }),
    });
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) parameters.set(name, String(value));
    }
    const path = `/sandboxes/${this.sandboxId}/agent/v1/${route}?${parameters.toString()}`;
    const body = init.body instanceof ReadableStream ? inUse(this.deps, this.sandboxId, init.body) : init.body;
    const request = { method, signal: this.signal, ...init, ...(body && { body }) };
    const response = await this.deps.guests.request(this.hostId, path, request);
    const { status, headers } = response;
    return new Response(response.body && inUse(this.deps, this.sandboxId, response.body), { status, headers });
  }
}

/** The answer itself when it is a success. @throws MayflyError what the guest refused with */
export async function succeeded(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw await refusalOf(response);
}

/** The agent writes as root wherever it is told to. @throws MayflyError policy_denied */
async function refuseUnlessWritable(c: Context<Env>, deps: RequestDeps, sandboxId: string): Promise<void> {
  const { project } = await sandboxOfPath(c, deps, sandboxId);
  const asRoot = { runs: { commands: [], user: 'root' } };
  await refuseUnlessAllowed(deps, project, asRoot, 'write the file with a command');
}
