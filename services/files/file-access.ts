import { PASSWORD_PATH, type Place } from '../desktop/screens.ts';
import { type GuestRequest, refusalOf } from '../guests.ts';
import { inUse } from '../sandboxes/in-use.ts';
import type { ServiceDeps } from '../service-deps.ts';
import type { FilePath } from './file-path.ts';

/** A path in an awake sandbox. */
export class FileAccess {
  constructor(
    private readonly deps: Pick<ServiceDeps, 'store' | 'guests'>,
    private readonly place: Place,
    readonly path: FilePath,
  ) {}

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
    const { sandboxId, hostId, signal } = this.place;
    const path = `/sandboxes/${sandboxId}/agent/v1/${route}?${parameters.toString()}`;
    const body = init.body instanceof ReadableStream ? inUse(this.deps, sandboxId, init.body) : init.body;
    const request = { method, signal, ...init, ...(body && { body }) };
    const response = await this.deps.guests.request(hostId, path, request);
    const { status, headers } = response;
    return new Response(response.body && inUse(this.deps, sandboxId, response.body), { status, headers });
  }
}

/** The answer itself when it is a success. @throws MayflyError what the guest refused with */
export async function succeeded(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw await refusalOf(response);
}
