import type { BootWish } from '../model/sandbox/boot.ts';
import type { Egress, IdleAction } from '../model/sandbox/sandbox.ts';

/** A request for a sandbox; what is left out gets the server's default. */
export interface CreateSandbox {
  /** The golden VM; or else `snapshotId`. */
  source?: string;
  /** The capture of a running source. `@default` its newest */
  captureId?: string;
  /** Of no other that lives: a DNS label that begins with a letter, and not as an id does. `@default` none */
  name?: string;
  /** Makes a fork of this snapshot; see {@link Snapshots.fork} for many of them. */
  snapshotId?: string;
  cpus?: number;
  memoryMib?: number;
  ttlSeconds?: number;
  idleSeconds?: number;
  /** What is done after `idleSeconds` without use. `@default` destroy */
  onIdle?: IdleAction;
  /** Whether a command or another use of it, while it is paused or hibernated, resumes it. `@default` false */
  autoResume?: boolean;
  metadata?: Record<string, string>;
  agentId?: string;
  network?: { egress: Egress };
  /** How it may come to its machine. `@default` auto: the quickest way there is */
  boot?: BootWish;
}
