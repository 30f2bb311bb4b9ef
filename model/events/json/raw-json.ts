/** JSON text that stands in an answer or a request as it was written: numbers that a double would change among it. */
export class RawJson {
  /** @param text well-formed */
  constructor(readonly text: string) {}
}

/** JSON text of a value, as JSON.stringify makes it, with each {@link RawJson} in it as it is. */
export function stringifyRaw(value: unknown): string {
  const mark = crypto.randomUUID();
  const texts: string[] = [];
  const json = JSON.stringify(value, (_name, each: unknown) =>
    each instanceof RawJson ? `${mark}/${texts.push(each.text) - 1}` : each,
  );
  if (texts.length === 0) return json;
  return json.replace(new RegExp(`"${mark}/(\\d+)"`, 'g'), (_whole, at: string) => texts[Number(at)] ?? 'null');
}
