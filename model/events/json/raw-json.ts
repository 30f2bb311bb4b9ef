/** JSON text that is embedded verbatim, including numbers that a double would change. */
export class RawJson {
  /** @param text well-formed */
  constructor(readonly text: string) {}
}

/** Stringifies a value like JSON.stringify, with each {@link RawJson} verbatim. */
export function stringifyRaw(value: unknown): string {
  const mark = crypto.randomUUID();
  const texts: string[] = [];
  const json = JSON.stringify(value, (_name, each: unknown) =>
    each instanceof RawJson ? `${mark}/${texts.push(each.text) - 1}` : each,
  );
  if (texts.length === 0) return json;
  return json.replace(new RegExp(`"${mark}/(\\d+)"`, 'g'), (_whole, at: string) => texts[Number(at)] ?? 'null');
}
