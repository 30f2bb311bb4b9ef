import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { TLSConfig } from '@temporalio/client';
import { assertPrivate } from '../../ca/key-file.ts';
import { MayflyError } from '../../model/errors.ts';
import type { TemporalTls } from '../config/config.ts';

/** Timeout of probing a server that refused a connection, ms. */
const PROBE_TIMEOUT_MS = 3_000;
const DEFAULT_PORT = 7233;

/**
 * Reads the certificates for Temporal at start: a renewed certificate counts after a restart.
 * @param variables prefix of the variables that name the files. `@default` TEMPORAL_TLS
 * @throws MayflyError temporal_unavailable that names the variable, and the problem of its file
 */
export async function readTemporalTls(
  { ca, cert, key, ...more }: TemporalTls,
  variables = 'TEMPORAL_TLS',
): Promise<TLSConfig> {
  const root = ca === undefined ? null : await certificateOf(`${variables}_CA`, ca);
  const own = cert !== undefined && key !== undefined ? await pairOf(variables, cert, key, more.credentialsDir) : null;
  return {
    ...(root && { serverRootCACertificate: root.pem }),
    ...(own && { clientCertPair: own }),
    ...(more.serverName !== undefined && { serverNameOverride: more.serverName }),
  };
}

/** Returns why TLS made a server refuse a connection, or null for another cause. */
export async function findTlsProblem(address: string, tls: TLSConfig | null): Promise<string | null> {
  const socket = openTls(address, tls);
  try {
    await once(socket, 'secureConnect');
    if (tls === null) return 'it speaks TLS: set TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY';
    const refusal = await awaitRefusal(socket);
    if (refusal === null) return null;
    if (!tls.clientCertPair) return 'it wants a certificate of ours: set TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY';
    return `it does not take our certificate, TEMPORAL_TLS_CERT (${refusal})`;
  } catch (error) {
    return tls === null ? null : formatTlsError(error);
  } finally {
    socket.destroy();
  }
}

/** Reports whether the server refuses clients without a certificate. @throws Error when it does not speak TLS */
export async function wantsCertificate(address: string, files: TemporalTls): Promise<boolean> {
  const socket = openTls(address, await readTemporalTls({ ...files, cert: undefined, key: undefined }));
  try {
    await once(socket, 'secureConnect');
    return (await awaitRefusal(socket)) !== null;
  } finally {
    socket.destroy();
  }
}

function openTls(address: string, tls: TLSConfig | null): TLSSocket {
  const [host = '', port = ''] = address.split(/:(?=\d+$)/);
  const socket = connect({
    host,
    port: Number(port || DEFAULT_PORT),
    servername: tls?.serverNameOverride ?? (isIP(host) ? '' : host),
    ALPNProtocols: ['h2'],
    ...(tls?.serverRootCACertificate && { ca: Buffer.from(tls.serverRootCACertificate) }),
    ...(tls?.clientCertPair && { cert: Buffer.from(tls.clientCertPair.crt), key: Buffer.from(tls.clientCertPair.key) }),
    rejectUnauthorized: tls !== null,
  });
  return socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy(new Error(`${address} says nothing`)));
}

/**
 * Waits for the server's refusal: with TLS 1.3 it comes after the handshake. An accepted client gets HTTP/2 settings at
 * once.
 */
async function awaitRefusal(socket: TLSSocket): Promise<string | null> {
  const letIn = once(socket, 'data').then(() => null);
  const ended = once(socket, 'close').then(() => 'closed');
  return await Promise.race([letIn, ended]).catch(codeOf);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function formatTlsError(error: unknown): string | null {
  const code = codeOf(error);
  if (/ALTNAME/.test(code))
    return 'its certificate is for another name: correct TEMPORAL_ADDRESS, or set TEMPORAL_TLS_SERVER_NAME';
  if (/EXPIRED/.test(code)) return 'its certificate is out of date: renew it';
  if (/SELF_SIGNED|UNABLE_TO|ISSUER/.test(code)) return `its certificate is not of the CA in TEMPORAL_TLS_CA (${code})`;
  if (/WRONG_VERSION|ERR_SSL|EPROTO|ECONNRESET/.test(code))
    return `it does not speak TLS as we do (${code}): is it without TLS?`;
  return null;
}

async function pairOf(
  variables: string,
  certPath: string,
  keyPath: string,
  credentialsDir: string | undefined,
): Promise<{ crt: Buffer; key: Buffer }> {
  const { pem: crt, certificate } = await certificateOf(`${variables}_CERT`, certPath);
  const variable = `${variables}_KEY`;
  const key = await textOf(variable, keyPath);
  try {
    // systemd's copies belong to root, and an ACL lets the unit in
    if (dirname(keyPath) !== credentialsDir) await assertPrivate(keyPath, `key of ${variable}`);
  } catch (cause) {
    throw tlsFileError(variable, cause instanceof Error ? cause.message : String(cause), cause);
  }
  if (!certificate.checkPrivateKey(privateKeyOf(variable, keyPath, key))) {
    throw tlsFileError(variable, `${keyPath} is not the key of the certificate ${certPath}.`);
  }
  return { crt, key };
}

function privateKeyOf(variable: string, path: string, pem: Buffer): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw tlsFileError(variable, `${path} is not a private key in PEM format, without a passphrase.`, cause);
  }
}

async function certificateOf(variable: string, path: string): Promise<{ pem: Buffer; certificate: X509Certificate }> {
  const pem = await textOf(variable, path);
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch (cause) {
    throw tlsFileError(variable, `${path} is not a certificate in PEM format.`, cause);
  }
  const { validFrom, validTo } = certificate;
  if (Date.parse(validTo) < Date.now()) throw tlsFileError(variable, `${path} has expired at ${validTo}. Renew it.`);
  if (Date.parse(validFrom) > Date.now()) {
    throw tlsFileError(variable, `${path} is valid from ${validFrom}, by the clock of this machine not yet.`);
  }
  return { pem, certificate };
}

async function textOf(variable: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw tlsFileError(
      variable,
      `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    );
  }
}

function tlsFileError(variable: string, why: string, cause?: unknown): MayflyError {
  return new MayflyError('temporal_unavailable', `${variable}: ${why}`, { cause });
}
