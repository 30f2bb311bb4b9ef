import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { WaitOptions } from '../http/options.ts';
import { prefer, sandboxPath } from '../http/paths.ts';
import type { CallOptions, PostOptions, Transport } from '../http/transport.ts';

type Button = 'left' | 'middle' | 'right';

/** What is done with pointer or keys. Places are pixels from the left and the top. */
export type DesktopAction =
  | { action: 'move'; x: number; y: number }
  /** `count` clicks, 1 to 3. `@default` one, of the left button */
  | { action: 'click'; x: number; y: number; button?: Button; count?: number }
  | { action: 'drag'; x: number; y: number; toX: number; toY: number; button?: Button }
  /** Steps of a wheel, each at most 100; less than 0: up and left. */
  | { action: 'scroll'; x: number; y: number; down?: number; right?: number }
  /** Such as `Enter`, `ctrl+l`, `ctrl+shift+Tab`. */
  | { action: 'key'; keys: string }
  | { action: 'type'; text: string };

export interface DesktopSize {
  width: number;
  height: number;
}

export interface DesktopWindow extends DesktopSize {
  id: string;
  /** Null where its program does not say it. */
  pid: number | null;
  class: string;
  title: string;
  x: number;
  y: number;
  /** Whether it is typed into. */
  isActive: boolean;
}

export interface DesktopState extends DesktopSize {
  pointer: { x: number; y: number };
  windows: DesktopWindow[];
}

export interface DesktopStream {
  mode: 'view' | 'control';
  /** What noVNC asks for; that of before, of this mode, opens nothing more. */
  password: string;
  /** Of the sandbox's loopback, where noVNC is; open for HTTP now. */
  port: number;
  /** Of noVNC, with a token of the port: for a browser. */
  url: string;
  /** When the token ends, and what was let in by it. ISO 8601. */
  expiresAt: string;
}

/** Screens of sandboxes that have one. Throws as {@link MayflyClient} does. */
export class Desktop {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The screen as a PNG file. */
  screenshot(sandboxId: string, options: CallOptions = {}): Promise<Uint8Array> {
    const path = `${desktopPath(sandboxId)}/screenshot`;
    return this.#transport.repeated(options, async (signal) => {
      const response = await this.#transport.open({ method: 'GET', path, headers: { accept: 'image/png' } }, signal);
      return new Uint8Array(await response.arrayBuffer());
    });
  }

  /** The size of the screen, its pointer and its windows. */
  look(sandboxId: string, options: CallOptions = {}): Promise<DesktopState> {
    return this.#transport.json({ method: 'GET', path: desktopPath(sandboxId) }, options);
  }

  /** Does one thing, once; returns when it is done. What programs make of it takes its time. */
  act(sandboxId: string, action: DesktopAction, options: PostOptions = {}): Promise<DesktopSize> {
    return this.#transport.json({ method: 'POST', path: `${desktopPath(sandboxId)}/actions`, body: action }, options);
  }

  /** Opens an address in the browser, or starts a program, which stays. */
  open(
    sandboxId: string,
    what: { url: string } | { argv: string[] },
    options: WaitOptions & PostOptions = {},
  ): Promise<CommandRecord> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json(
      { method: 'POST', path: `${desktopPath(sandboxId)}/open`, body: what, headers },
      options,
    );
  }

  /**
   * A URL and a password with which the screen can be seen, or used, in a browser.
   * @param wish.ttlSeconds for how long. `@default` 3600
   */
  stream(
    sandboxId: string,
    wish: Pick<DesktopStream, 'mode'> & { ttlSeconds?: number },
    options: CallOptions = {},
  ): Promise<DesktopStream> {
    return this.#transport.json({ method: 'POST', path: `${desktopPath(sandboxId)}/streams`, body: wish }, options);
  }
}

function desktopPath(sandboxId: string): string {
  return `${sandboxPath(sandboxId)}/desktop`;
}
