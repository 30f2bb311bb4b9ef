import { redactText, secretSpans } from '../../redaction/redact.ts';
import { isSecretName } from '../../redaction/secret-name.ts';

/** Where keys lie, by convention of who reads them. */
const PLACES =
  /\/\.ssh\/(?!authorized_keys|known_hosts|config)[^/]+(?<!\.pub)$|\/\.gnupg\/(?:private-keys|secring)|^\/etc\/ssl\/private\/|\/\.(?:netrc|pgpass|my\.cnf|npmrc|pypirc|git-credentials)$|\/\.(?:aws|docker|kube|azure)\/(?:credentials|config(?:\.json)?)$|\.(?:key|p12|pfx|jks|kdbx|keytab)$/;

/** Whether a file holds a secret: by its place, its name, or what redaction recognises in it. */
export function isSecretFile(path: string, bytes: Uint8Array): boolean {
  if (bytes.length === 0) return false;
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (PLACES.test(path) || isSecretName(name)) return true;
  const text = new TextDecoder('latin1').decode(bytes);
  const isBinary = text.slice(0, 8_000).includes('\0');
  return isBinary ? /-----BEGIN [A-Z ]{0,40}PRIVATE KEY/.test(text) : secretSpans(text).length > 0;
}

/** Whether a name has a secret in it. */
export function isSecretPath(path: string): boolean {
  return redactText(path) !== path;
}
