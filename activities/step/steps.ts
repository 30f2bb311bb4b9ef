import type { Observation } from '../../model/sandbox/proof.ts';
import type { BootWish, Egress, SshEndpoint } from '../../model/sandbox/sandbox.ts';

/** Which sandbox a step works on, and how new the step is: a host refuses a step older than the newest it has seen. */
export interface StepTarget {
  sandboxId: string;
  /** Of the create, then of each operation and its undos, then of the cleanup: an attempt of one that is still running when the next begins must stop. */
  generation: number;
}

export interface ReserveInput extends StepTarget {
  source: string;
  /** What it is made of in the source's place. */
  snapshotId?: string | null;
  memoryMib: number | null;
}

export interface CloneDiskInput extends StepTarget {
  source: string;
  snapshotId: string | null;
  captureId?: string | null;
  cpus: number | null;
  memoryMib: number | null;
  egress: Egress;
  userCaKeys: string[];
  /** Whether it may wake from a template. `@default` cold */
  boot?: BootWish;
  /** Whose template. `@default` nobody's */
  project?: string;
  /** Its cable is never in. `@default` false */
  isOffline?: boolean;
  /** What the source must hold, where other hosts have one of its name. `@default` whatever it holds */
  content?: string;
}

export interface VerifySshInput extends StepTarget {
  endpoint: SshEndpoint;
  /** One OpenSSH certificate line; public. */
  certificate: string;
}

export interface LookResult {
  observations: Observation[];
}
