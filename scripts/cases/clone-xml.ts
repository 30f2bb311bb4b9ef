import { parseXml } from '../../host/libvirt/client/xml.ts';
import { cloneXml } from '../../host/libvirt/domain-xml/clone-xml.ts';
import { domainUuid, macAddress } from '../../model/ids.ts';
import { type Case, isRecord, type Problem, stringField } from './case.ts';
import { type Assertion, check } from './xml-assertions.ts';

export function cloneXmlGroup(one: Case): Problem {
  const assertions = assertionsOf(one.expected);
  const made = attempt(one.input);
  for (const assertion of assertions) {
    const expected = JSON.stringify(assertion);
    if (assertion.op === 'error') {
      const message = 'error' in made ? made.error : null;
      if (message === null) return { expected, came: 'no error' };
      if (!message.toLowerCase().includes((assertion.contains ?? '').toLowerCase())) return { expected, came: message };
    } else if ('error' in made) return { expected, came: `error: ${made.error}` };
    else {
      const came = check(assertion, parseXml(made.xml), made.xml);
      if (came !== null) return { expected, came };
    }
  }
  return null;
}

function assertionsOf(expected: unknown): Assertion[] {
  const list = isRecord(expected) ? expected['assert'] : undefined;
  if (!Array.isArray(list)) throw new TypeError('expected.assert is not a list');
  return list.map((entry: unknown) => {
    if (!isRecord(entry) || typeof entry['op'] !== 'string') throw new TypeError('an assertion has no op');
    return { ...entry, op: entry['op'] };
  });
}

function attempt(input: unknown): { xml: string } | { error: string } {
  const params = isRecord(input) ? input['params'] : undefined;
  const name = stringField(params, 'new_name');
  try {
    const xml = cloneXml(stringField(input, 'source_xml'), {
      name,
      uuid: domainUuid(name),
      rootOverlay: stringField(params, 'disk_path'),
      seed: textOrNull(params, 'cloud_init_iso'),
      cpus: numberOrNull(params, 'cpu'),
      memoryMib: numberOrNull(params, 'memory_mb'),
      network: textOrNull(params, 'network'),
      mac: (nic) => macAddress(name, nic),
      accelerator: null,
      limitsCpus: false,
      bases: new Map(),
    });
    return { xml };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function numberOrNull(params: unknown, key: string): number | null {
  const value = isRecord(params) ? params[key] : null;
  return typeof value === 'number' && value !== 0 ? value : null;
}

function textOrNull(params: unknown, key: string): string | null {
  const value = isRecord(params) ? params[key] : null;
  return typeof value === 'string' && value !== '' ? value : null;
}
