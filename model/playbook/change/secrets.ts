import { findKnownFormats } from '../../redaction/known-text.ts';
import { findSecrets, redactText } from '../../redaction/redact.ts';
import { findScannerSecrets } from '../../redaction/scanner.ts';
import { isSecretName } from '../../redaction/secret-name.ts';

/** Conventional paths of keys and credentials. */
const PLACES =
  /\/\.ssh\/(?!authorized_keys|known_hosts|config)[^/]+(?<!\.pub)$|\/\.gnupg\/(?:private-keys|secring)|^\/etc\/ssl\/private\/|\/\.(?:netrc|pgpass|my\.cnf|npmrc|pypirc|git-credentials)$|\/\.(?:aws|docker|kube|azure)\/(?:credentials|config(?:\.json)?)$|\.(?:key|p12|pfx|jks|kdbx|keytab)$/;

/** Magic number of programs, which contain names of secrets followed by unrelated text. */
const ELF = '\x7fELF';

/** True when a file holds a secret: by its path, its name, or its redactable content, even in a database or UTF-16. */
export function isSecretFile(path: string, bytes: Uint8Array): boolean {
  if (bytes.length === 0) return false;
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (PLACES.test(path) || isSecretName(name)) return true;
  const text = new TextDecoder('latin1').decode(bytes);
  if (text.startsWith(ELF)) return findKnownFormats(text).length > 0 || findScannerSecrets(text).length > 0;
  return findSecrets(text).length > 0 || (text.includes('\0') && findSecrets(text.replaceAll('\0', '')).length > 0);
}

/** True when a path contains a secret. */
export function isSecretPath(path: string): boolean {
  return redactText(path) !== path;
}
