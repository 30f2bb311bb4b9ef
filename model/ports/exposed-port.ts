import type { Actor } from '../sandbox/sandbox.ts';

/** Who may use it: who has a token of it, or who has an API key of its project. */
export const PORT_VISIBILITIES = ['token', 'project'] as const;
/** Which `Host` the program is told: `localhost:<port>`, or the one that was asked for. */
export const PORT_HOSTS = ['localhost', 'preserve'] as const;

/** How a port of a sandbox is open for HTTP. */
export interface PortSettings {
  visibility: (typeof PORT_VISIBILITIES)[number];
  host: (typeof PORT_HOSTS)[number];
  /** Whether pages of any origin may read its answers. The program's own CORS headers are then replaced. */
  cors: boolean;
  /** Whether a request resumes a sandbox that is paused or hibernated. */
  wake: boolean;
}

/** A port of a sandbox that is open for HTTP. It ends with its sandbox; a fork has none. */
export interface ExposedPort extends PortSettings {
  sandboxId: string;
  port: number;
  project: string;
  /** 256 random bits in base64url, which sign its tokens. With another one all earlier tokens are void. */
  secret: string;
  openedBy: Actor;
  /** ISO 8601. */
  openedAt: string;
}
