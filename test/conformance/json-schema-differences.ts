/** Unsupported groups of the JSON Schema test suite (jsonschema 4.26.0), by reason, file and index. */
const WHY: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> = {
  'no schema is fetched: what is referred to must be in the schema, and this is refused at deploy': {
    dynamicRef: [13, 14, 15, 16, 17],
    refRemote: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
  },
  'Ajv resolves $dynamicRef within one schema alone': {
    dynamicRef: [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 18, 19],
    unevaluatedItems: [18],
    unevaluatedProperties: [21],
  },
  'Ajv does not see what contains, if without then, or nested items have evaluated': {
    unevaluatedItems: [8, 21, 22, 23, 26],
    unevaluatedProperties: [15, 39],
  },
  'Ajv does not compile two resources that refer to one another: refused at deploy': { ref: [15, 16, 27] },
  'only the dialect of 2020-12 itself is taken: refused at deploy': { vocabulary: [0, 1] },
  'Ajv does not apply a schema to a property of the name __proto__': { properties: [5] },
};

export const DECLARED: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(WHY).flatMap(([why, files]) =>
    Object.entries(files).flatMap(([file, groups]) => groups.map((nth) => [`${file}/${nth}`, why])),
  ),
);
