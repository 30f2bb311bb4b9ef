import { MayflyError } from '../../model/errors.ts';
import { percentDecode, percentEncode } from '../../model/files/file-path.ts';
import { LIMITS } from '../../model/limits.ts';
import { type AwakeSandbox, PASSWORD_PATH } from '../desktop/screens.ts';
import { type GuestRequest, toGuestError } from '../guests.ts';
import { touchWhileStreaming } from '../sandboxes/awake-sandbox.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Path in a guest: absolute, any bytes but NUL, not normalized. */
export class FilePath {
  private constructor(readonly bytes: Uint8Array) {}

  /** @throws MayflyError invalid_request */
  static of(percentEncoded: string): FilePath {
    const bytes = percentDecode(percentEncoded);
    if (!bytes) throw invalidPath('has a % that is not followed by two hexadecimal digits');
    if (bytes.includes(0)) throw invalidPath('may not have the byte NUL (%00)');
    // The URL omits the leading slash; both forms mean the same path.
    const absolute = bytes[0] === 0x2f ? bytes : Buffer.concat([Buffer.from('/'), bytes]);
    if (absolute.length > LIMITS.path.maxBytes) throw invalidPath(`must have at most ${LIMITS.path.maxBytes} bytes`);
    return new FilePath(absolute);
  }

  /** Form that the guest's agent expects. */
  get base64url(): string {
    return Buffer.from(this.bytes).toString('base64url');
  }

  /** Printable and unambiguous form, for the audit. */
  get encoded(): string {
    return percentEncode(this.bytes);
  }
}

function invalidPath(problem: string): MayflyError {
  return new MayflyError('invalid_request', `The path ${problem}.`, { fields: [{ field: 'path', problem }] });
}

/** Path in an awake sandbox. */
export class FileAccess {
  constructor(
    private readonly deps: Pick<ServiceDeps, 'store' | 'guests'>,
    private readonly place: AwakeSandbox,
    readonly path: FilePath,
  ) {}

  /**
   * Sends a request about the path to the guest's agent, and returns any response. Aborts when the caller disconnects.
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
    const body = init.body instanceof ReadableStream ? touchWhileStreaming(this.deps, sandboxId, init.body) : init.body;
    const request = { method, signal, ...init, ...(body && { body }) };
    const response = await this.deps.guests.request(hostId, path, request);
    const { status, headers } = response;
    return new Response(response.body && touchWhileStreaming(this.deps, sandboxId, response.body), { status, headers });
  }
}

/** Returns a successful response. @throws MayflyError of the guest */
export async function assertOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw await toGuestError(response);
}
