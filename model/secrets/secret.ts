import type { Actor } from '../sandbox/sandbox.ts';

/** A version of a secret as it is told: never what it is. */
export interface SecretVersion {
  /** 1, 2, 3 … */
  version: number;
  createdBy: Actor;
  createdAt: string;
}

/** A secret of a project, by its name. Its value is kept apart, and only the newest. */
export interface SecretRecord {
  project: string;
  name: string;
  /** The newest; one that is put again when it was deleted goes on from there. */
  version: number;
  /** Under which the newest value is kept; null: the secret is deleted. */
  valueId: string | null;
  /** Why what its functions print is not masked; null: it is. */
  notMasked: string | null;
  /** Those that are told, the newest first. */
  versions: SecretVersion[];
  createdAt: string;
  updatedAt: string;
}

/** Where a process finds a secret: in a variable, or in a file of the folder `$MAYFLY_SECRETS`. One of them is set. */
export interface SecretUse {
  name: string;
  env: string | null;
  file: string | null;
}

/** Which value an attempt was given. */
export interface UsedSecret {
  name: string;
  version: number;
}

/** A secret as an attempt has it: the value that held when it began, whatever is put or deleted later. */
export interface GivenSecret extends SecretUse, UsedSecret {
  value: string;
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
export const SECRET_NAME_PATTERN = NAME.source;

export function isSecretName(text: string): boolean {
  return NAME.test(text);
}

/** A name below a folder, and no path: no slash, not hidden, nothing that a terminal or shell takes for more. */
export const SECRET_FILE = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
