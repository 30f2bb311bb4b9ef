import { join } from 'node:path';
import { exec } from '../../host/os/exec.ts';
import { repository } from '../../worker/config/artifacts.mjs';

/** Creates certificates as an operator does. @returns the folder */
export async function makeCertificates(folder: string, names: readonly string[]): Promise<string> {
  await exec('sh', [join(repository, 'deploy/temporal/certificates.sh'), folder, ...names]);
  return folder;
}

/** Returns the TLS settings of a process that calls Temporal, or the proxy. */
export function temporalTls(folder: string, name: string) {
  const file = (what: string) => join(folder, name, what);
  return {
    TEMPORAL_TLS_CA: file('ca.pem'),
    TEMPORAL_TLS_CERT: file('cert.pem'),
    TEMPORAL_TLS_KEY: file('key.pem'),
  };
}

/** Returns the TLS settings of the proxy for its callers. */
export function proxyTls(folder: string) {
  const file = (what: string) => join(folder, 'proxy-server', what);
  return {
    MAYFLY_PROXY_TLS_CA: file('ca.pem'),
    MAYFLY_PROXY_TLS_CERT: file('cert.pem'),
    MAYFLY_PROXY_TLS_KEY: file('key.pem'),
  };
}
