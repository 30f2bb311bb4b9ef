import { z } from 'zod';
import { absolute } from '../../model/dockerfile/patterns/paths.ts';
import { NO_SETTINGS, type Settings } from '../../model/dockerfile/plan.ts';
import { refusedAt } from '../../model/dockerfile/refusal.ts';
import { isUser } from '../../model/dockerfile/user.ts';
import { LIMITS } from '../../model/limits.ts';

const text = z.string().regex(/^[^\0]*$/, 'has a NUL');
const words = z.array(text).max(1_000).nullish();
const variable = text.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}=/, 'is no NAME=value');
const path = z.string().regex(/^[^\p{Cc}]*$/u, 'has a control character');

const Config = z.object({
  Env: z.array(variable.max(LIMITS.command.maxVariableBytes)).max(LIMITS.image.args).nullish(),
  WorkingDir: path.max(4_096).nullish(),
  User: z.string().max(256).nullish(),
  Cmd: words,
  Entrypoint: words,
  Labels: z.record(text, text).nullish(),
  ExposedPorts: z.record(z.string().regex(/^\d{1,5}(?:-\d{1,5})?\/(?:tcp|udp)$/, 'is no port'), z.unknown()).nullish(),
});

/** The configuration of an image; what is not read here is not done here. */
export const OciConfig = z.object({
  architecture: z.string(),
  os: z.string(),
  config: Config.nullish(),
  rootfs: z.object({ diff_ids: z.array(z.string().regex(/^sha256:[0-9a-f]{64}$/, 'is no SHA-256')) }),
});

/**
 * What an image says of what runs in it, as a Dockerfile that begins at it has it.
 * @throws MayflyError dockerfile_unsupported
 */
export function imageSettings(config: z.infer<typeof Config>, line: number): Settings {
  const { Env, WorkingDir, User, Cmd, Entrypoint, Labels, ExposedPorts } = config;
  const variables = (Env ?? []).map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]);
  return {
    env: { ...NO_SETTINGS.env, ...Object.fromEntries(variables) },
    workdir: WorkingDir ? absolute(WorkingDir, '/') : '/',
    user: userOf(User || 'root', line),
    shell: NO_SETTINGS.shell,
    labels: Labels ?? {},
    exposed: Object.keys(ExposedPorts ?? {}),
    cmd: Cmd ?? null,
    entrypoint: Entrypoint ?? null,
  };
}

function userOf(said: string, line: number): string {
  const user = /^(?:root|0)(?::(?:root|0))?$/.test(said) ? 'root' : said;
  if (isUser(user)) return user;
  throw refusedAt(line, `the image runs as ${JSON.stringify(user)}, which is no user, and no user and group`);
}
