import type { CallOptions } from '../http/deadline.ts';
import { Resource, sandboxPath } from '../http/resource.ts';

/** Screens of sandboxes that have one. */
export class Desktop extends Resource {
  /** Size of the screen, its pointer and its windows. */
  readonly look = this.ask('GET /v1/sandboxes/{id}/desktop');
  /** Performs one action, once; returns when it is done. Programs may take longer to react. */
  readonly act = this.send('POST /v1/sandboxes/{id}/desktop/actions');
  /** Opens an address in the browser, or starts a program, which stays. */
  readonly open = this.send('POST /v1/sandboxes/{id}/desktop/open');
  /** URL and password with which a browser shows or controls the screen. */
  readonly stream = this.send('POST /v1/sandboxes/{id}/desktop/streams');

  /** Returns the screen as a PNG file. */
  screenshot(sandboxId: string, options: CallOptions = {}): Promise<Uint8Array> {
    const path = `${sandboxPath(sandboxId)}/desktop/screenshot`;
    return this.transport.repeated(options, async (signal) => {
      const response = await this.transport.open({ method: 'GET', path, headers: { accept: 'image/png' } }, signal);
      return new Uint8Array(await response.arrayBuffer());
    });
  }
}
