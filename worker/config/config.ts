import { hostname } from 'node:os';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { isHostId } from '../../model/ids.ts';
import { cidrProblem } from '../../services/webhooks/sending/address-policy.ts';
import { findHooksProblem, findIngressProblem } from './ingress-site.ts';

const optional = z
  .string()
  .optional()
  .transform((text) => text || undefined);
const absolute = optional.refine((path) => path === undefined || path.startsWith('/'), 'give an absolute path');
/** A hundred years. */
const MAX_DAYS = 36_500;
const INGRESS_PORT = 7997;
const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);

/** Comma-separated. */
const commaSeparated = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean),
  );

/** Days, also fractions; `forever` is null. */
const days = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text) => (text === '' ? fallback : text))
    .transform((text) => (text === 'forever' ? null : Number(text)))
    .refine((n) => n === null || (n > 0 && n <= MAX_DAYS), `give a number of days up to ${MAX_DAYS}, or \`forever\``);

const environment = z.object({
  MAYFLY_HOST: z.enum(['libvirt', 'simulated']).default('libvirt'),
  MAYFLY_HOST_ID: optional.refine((id) => id === undefined || isHostId(id), 'use 1 to 40 of a-z, 0-9 and -'),
  MAYFLY_STATE_DIR: z.string().startsWith('/', 'give an absolute path').default('/var/lib/mayfly'),
  MAYFLY_API_ADDRESS: z.string().default('127.0.0.1'),
  MAYFLY_API_PORT: port(7999),
  MAYFLY_API_NAMES: commaSeparated,
  MAYFLY_HOOKS_ADDRESS: z.string().default('127.0.0.1'),
  MAYFLY_HOOKS_PORT: optional
    .transform((text) => (text === undefined ? undefined : Number(text)))
    .pipe(z.number().int().min(0).max(65_535).optional()),
  MAYFLY_HOOKS_URL: optional.superRefine((url, context) => {
    const problem = url === undefined ? null : findHooksProblem(url);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  }),
  MAYFLY_INGRESS_ADDRESS: z.string().default('127.0.0.1'),
  MAYFLY_INGRESS_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  MAYFLY_INGRESS_URL: optional,
  MAYFLY_RELAY_ADDRESS: z
    .string()
    .refine((address) => !isWildcard(address), 'give the address at which the API reaches this machine')
    .default('127.0.0.1'),
  MAYFLY_RELAY_PORT: port(0),
  MAYFLY_LIBVIRT_URI: optional,
  MAYFLY_SUBNET: z.string().default('10.213.0.0/20'),
  MAYFLY_INTERNET_SUBNET: z.string().default('10.213.16.0/20'),
  MAYFLY_DISK_OVERCOMMIT: z.coerce.number().min(1).max(1_000).default(4),
  MAYFLY_TEMPLATES: z.enum(['on', 'off']).default('on'),
  MAYFLY_TEMPORAL_UI_WRITES: z.enum(['on', 'off']).default('off'),
  MAYFLY_RECONCILE_SECONDS: z.coerce.number().int().min(1).max(86_400).default(60),
  MAYFLY_ORPHAN_GRACE_SECONDS: z.coerce.number().int().min(1).max(86_400).default(30),
  MAYFLY_RETENTION_DAYS: days('90'),
  MAYFLY_AUDIT_RETENTION_DAYS: days('forever'),
  MAYFLY_WEBHOOK_ALLOW: commaSeparated.superRefine((cidrs, context) => {
    for (const cidr of cidrs) {
      const problem = cidrProblem(cidr);
      if (problem !== null) context.addIssue({ code: 'custom', message: `${cidr} ${problem}` });
    }
  }),
  MAYFLY_PAYLOAD_KEY_FILE: absolute,
  MAYFLY_EXPORT_DIR: absolute,
  MAYFLY_FAILPOINTS: optional,
  MAYFLY_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  MONGODB_URI: optional,
  TEMPORAL_ADDRESS: optional,
  OTEL_EXPORTER_OTLP_ENDPOINT: optional,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional,
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TLS_CA: absolute,
  TEMPORAL_TLS_CERT: absolute,
  TEMPORAL_TLS_KEY: absolute,
  TEMPORAL_TLS_SERVER_NAME: optional,
  MAYFLY_PROXY_ADDRESS: z.string().default('127.0.0.1'),
  MAYFLY_PROXY_PORT: port(7234),
  MAYFLY_PROXY_TLS_CA: absolute,
  MAYFLY_PROXY_TLS_CERT: absolute,
  MAYFLY_PROXY_TLS_KEY: absolute,
  CREDENTIALS_DIRECTORY: absolute,
});

/** Files in PEM format, absolute. A process has a certificate and its key, or neither. */
export interface TemporalTls {
  /** CA of Temporal's certificate. `@default` those that the system trusts */
  ca: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  /** Name in Temporal's certificate. `@default` the host of its address */
  serverName: string | undefined;
  /** Folder of this unit's credentials by systemd (LoadCredential=). Undefined: it has none. */
  credentialsDir: string | undefined;
}

/** Settings from the environment; docs/settings.md has the table. */
export type Config = ReturnType<typeof readConfig>;

export type RetentionSettings = ReturnType<typeof readRetention>;

/** @throws MayflyError invalid_setting that names the variable. */
export function readConfig(env: NodeJS.ProcessEnv) {
  const parsed = environment.safeParse(env);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new MayflyError('invalid_setting', `${problems.join('; ')}`);
  }
  const values = parsed.data;
  return {
    hostKind: values.MAYFLY_HOST,
    /** Stable across restarts; `@default` derived from the machine's name. */
    hostId: values.MAYFLY_HOST_ID ?? deriveHostId(),
    /** Absolute. `@default` `/var/lib/mayfly` */
    stateDir: values.MAYFLY_STATE_DIR,
    /** `names`: names by which MCP clients reach it, besides loopback. */
    api: { address: values.MAYFLY_API_ADDRESS, port: values.MAYFLY_API_PORT, names: values.MAYFLY_API_NAMES },
    /**
     * Endpoint of events for hooks. `port`: serves hooks alone; undefined: the API's port. `url`: as senders call it;
     * undefined: the address and the port.
     */
    hooks: {
      address: values.MAYFLY_HOOKS_ADDRESS,
      port: values.MAYFLY_HOOKS_PORT,
      url: values.MAYFLY_HOOKS_URL,
    },
    /** Endpoint of open ports of sandboxes. `url`: as callers call it; undefined: `http://localhost` and the port. */
    ingress: readIngress(values),
    /** Endpoint by which the API reaches this host's guests. Port 0: any free one; the API reads it from the store. */
    relay: { address: values.MAYFLY_RELAY_ADDRESS, port: values.MAYFLY_RELAY_PORT },
    /** Connection URI, or `private` for a libvirtd of Mayfly's own. Undefined: the running one, else a private one. */
    libvirtUri: values.MAYFLY_LIBVIRT_URI,
    /** IPv4 networks of sandboxes, for egress `none` and `internet`. */
    subnets: { isolated: values.MAYFLY_SUBNET, internet: values.MAYFLY_INTERNET_SUBNET },
    /** A sandbox counts as 1/n of its disk size until it has written more. `@default` 4 */
    diskOvercommit: values.MAYFLY_DISK_OVERCOMMIT,
    /** True when sandboxes restore from templates, and hosts build them. `@default` true */
    templates: values.MAYFLY_TEMPLATES === 'on',
    /** True when Temporal's UI of `mayfly up` can cancel, terminate, signal and reset. `@default` false */
    temporalUiWrites: values.MAYFLY_TEMPORAL_UI_WRITES === 'on',
    /** Interval of reconciling store, Temporal and hosts, and the grace period of orphans. */
    reconcile: {
      everyMs: values.MAYFLY_RECONCILE_SECONDS * 1_000,
      graceMs: values.MAYFLY_ORPHAN_GRACE_SECONDS * 1_000,
    },
    retention: readRetention(values),
    /** Networks, as CIDRs, to which webhooks may be sent besides public addresses. `@default` none */
    webhookAllow: values.MAYFLY_WEBHOOK_ALLOW,
    /** Path of the keys that encrypt payloads in Temporal, absolute. Undefined: `<stateDir>/control/payload.key`. */
    payloadKeyFile: values.MAYFLY_PAYLOAD_KEY_FILE,
    failpoints: values.MAYFLY_FAILPOINTS,
    logLevel: values.MAYFLY_LOG_LEVEL,
    /** Undefined: Mayfly starts its own store. */
    mongodbUri: values.MONGODB_URI,
    /** Undefined: Mayfly starts its own Temporal dev server. */
    temporalAddress: values.TEMPORAL_ADDRESS,
    temporalNamespace: values.TEMPORAL_NAMESPACE,
    /** Null: no TLS, as with Mayfly's own dev server. */
    temporalTls: readTemporalTlsFiles(values),
    /** Listener of `mayfly serve proxy` and its certificate; callers' certificates are of its CA. */
    proxy: {
      address: values.MAYFLY_PROXY_ADDRESS,
      port: values.MAYFLY_PROXY_PORT,
      tls: {
        ca: values.MAYFLY_PROXY_TLS_CA,
        cert: values.MAYFLY_PROXY_TLS_CERT,
        key: values.MAYFLY_PROXY_TLS_KEY,
        serverName: undefined,
        credentialsDir: values.CREDENTIALS_DIRECTORY,
      } satisfies TemporalTls as TemporalTls,
    },
    /** Endpoint of traces, OTLP over HTTP. Undefined: tracing is off. */
    otlpEndpoint: values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT,
  };
}

/** Chooses any free port if the API's port is 0. @throws MayflyError invalid_setting */
function readIngress(values: z.infer<typeof environment>) {
  const { MAYFLY_INGRESS_ADDRESS: address, MAYFLY_INGRESS_URL: url, MAYFLY_API_ADDRESS, MAYFLY_API_NAMES } = values;
  const port = values.MAYFLY_INGRESS_PORT ?? (values.MAYFLY_API_PORT === 0 ? 0 : INGRESS_PORT);
  const problem = url === undefined ? null : findIngressProblem(url, [MAYFLY_API_ADDRESS, ...MAYFLY_API_NAMES]);
  if (problem === null) return { address, port, url };
  throw new MayflyError('invalid_setting', `MAYFLY_INGRESS_URL: ${problem}`);
}

/** @throws MayflyError invalid_setting */
function readTemporalTlsFiles(values: z.infer<typeof environment>): TemporalTls | null {
  const { TEMPORAL_TLS_CA: ca, TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key } = values;
  if (ca === undefined && cert === undefined && key === undefined) return null;
  const problem =
    values.TEMPORAL_ADDRESS === undefined
      ? 'TEMPORAL_TLS_CA: our own Temporal has no TLS; set TEMPORAL_ADDRESS, too'
      : (cert === undefined) !== (key === undefined) && 'TEMPORAL_TLS_CERT: it goes with TEMPORAL_TLS_KEY; set both';
  if (problem) throw new MayflyError('invalid_setting', `${problem}`);
  const { TEMPORAL_TLS_SERVER_NAME: serverName, CREDENTIALS_DIRECTORY: credentialsDir } = values;
  return { ca, cert, key, serverName, credentialsDir };
}

/**
 * Days from the end of a sandbox until its record (with commands, output, certificates, snapshots' records) and its
 * audit are removed; null: never.
 * @throws MayflyError invalid_setting
 */
function readRetention({
  MAYFLY_RETENTION_DAYS: recordDays,
  MAYFLY_AUDIT_RETENTION_DAYS: auditDays,
  MAYFLY_EXPORT_DIR,
}: z.infer<typeof environment>) {
  /** Null: nothing is exported, and no audit is removed. */
  const exportDir = MAYFLY_EXPORT_DIR ?? null;
  if (auditDays !== null && exportDir === null) {
    const why = 'no audit is removed that was not exported: set MAYFLY_EXPORT_DIR, or let this be `forever`';
    throw new MayflyError('invalid_setting', `MAYFLY_AUDIT_RETENTION_DAYS: ${why}`);
  }
  return { recordDays, auditDays, exportDir };
}

/** Reports whether an address cannot be published to the API as this host's relay. */
function isWildcard(address: string): boolean {
  return ['', '*', '0.0.0.0', '::'].includes(address);
}

function deriveHostId(): string {
  const id = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return isHostId(id) ? id : 'host';
}
