import type { ContextEntry } from './context.ts';

/** What a Dockerfile comes to: stages of steps, with all that each needs; nothing of it is looked up again. */
export interface BuildPlan {
  /** The target's, and those that it needs, in the order of the file. */
  stages: Stage[];
  /** Variables that were given, and that no ARG asks for. */
  unusedArgs: string[];
  /** What it says, and no build does: nothing of the image depends on it. */
  ignored: IgnoredLine[];
}

/** Called with what is said, and not done. */
export type Ignore = (ignored: IgnoredLine) => void;

export interface IgnoredLine {
  line: number;
  /** The instruction or flag, and what holds in its place. */
  text: string;
}

/** Where a stage begins: at a source, or at the end of another stage. */
export type Origin = { source: string } | { stage: number };

export interface Stage {
  /** Its place in the file, from 0; below 0: it stands in none, and makes the root that others begin at. */
  index: number;
  name: string | null;
  from: Origin;
  line: number;
  steps: Step[];
  settings: Settings;
}

/** What instructions say about what runs in an image. */
export interface Settings {
  env: Readonly<Record<string, string>>;
  workdir: string;
  user: string;
  shell: readonly string[];
  labels: Readonly<Record<string, string>>;
  exposed: readonly string[];
  cmd: readonly string[] | null;
  entrypoint: readonly string[] | null;
}

/** An empty folder, which is in no layer. */
export interface CacheMount {
  target: string;
  /** Octal. */
  mode: string;
  /** `uid:gid` */
  owner: string;
}

export interface SecretMount {
  id: string;
  target: string;
  /** Octal. */
  mode: string;
  /** `uid:gid` */
  owner: string;
  isRequired: boolean;
}

interface Said {
  line: number;
  /** The instruction, for whoever watches; variables as they are written. */
  text: string;
}

export interface RunStep extends Said {
  kind: 'run';
  argv: string[];
  stdin: string;
  /** Of ENV, and of the ARGs that are known by then. */
  env: Record<string, string>;
  cwd: string;
  user: string;
  secrets: SecretMount[];
  /** `@default` none */
  caches?: CacheMount[];
}

export interface CopyStep extends Said {
  kind: 'copy';
  /** Below the context, or below the stage's root. */
  sources: string[];
  /** Files that stand in the Dockerfile itself. */
  inline: { name: string; content: string }[];
  /** A stage; null: the context. */
  from: number | null;
  /** Absolute. With `/` at its end it is a directory, whatever is there. */
  target: string;
  owner: string | null;
  /** Octal. */
  mode: string | null;
}

/** Makes a directory, if there is none, and those above it. */
export interface WorkdirStep extends Said {
  kind: 'workdir';
  path: string;
  /** Whose they are. */
  user: string;
}

/** An archive of files. */
export interface RootLayer {
  /** Where its bytes are, which its digest is of. */
  entry: ContextEntry;
  /** `sha256:…` of what it is unpacked, as its image says it; null: it is no layer of an image, and has no whiteouts. */
  diffId: string | null;
}

/** Puts another root file system where that of the source was. */
interface RootStep extends Said {
  kind: 'root';
  /** One over the other. */
  layers: readonly RootLayer[];
}

export type Step = RunStep | CopyStep | WorkdirStep | RootStep;

export const NO_SETTINGS: Settings = {
  env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
  workdir: '/',
  user: 'root',
  shell: ['/bin/sh', '-c'],
  labels: {},
  exposed: [],
  cmd: null,
  entrypoint: null,
};
