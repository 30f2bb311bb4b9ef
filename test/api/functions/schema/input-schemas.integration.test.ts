import { afterAll, describe, expect, it } from 'vitest';
import { RawJson } from '../../../../model/events/json/raw-json.ts';
import { InputSchemas, refuseInexact } from '../../../../services/schema/input-schemas.ts';

const schemas = new InputSchemas();
afterAll(() => schemas.close());

/** Returns the problems of an event's data under a schema compiled for it alone. */
const problems = (schema: unknown, data: unknown) => schemas.problemsOf(JSON.stringify(schema), schema, data);
const refused = (field: string, problem: RegExp) => ({
  code: 'invalid_schema',
  options: { fields: [{ field, problem: expect.stringMatching(problem) }] },
});
const nested = (levels: number): object => (levels === 1 ? {} : { not: nested(levels - 1) });

/** Guards: deploy refuses a schema that cannot be applied to an event, with the path. */
describe('a checked schema', () => {
  it.each([
    [true],
    [false],
    [{}],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema#' }],
    [{ $ref: 'https://json-schema.org/draft/2020-12/schema' }],
    [{ $id: 'https://example.com/a', $ref: 'b#c', $defs: { b: { $id: 'b', $defs: { c: { $anchor: 'c' } } } } }],
    [{ 'x-ours': 1, format: 'no-such-format', properties: { constructor: { type: 'string' } } }],
    [{ $dynamicAnchor: 'node', properties: { next: { $dynamicRef: '#node' } } }],
    [nested(64)],
  ])('is accepted: %j', async (schema) => {
    await expect(schemas.check(schema)).resolves.toBeUndefined();
  });

  it.each([
    [5, refused('', /must be an object or a boolean/)],
    [null, refused('', /must be an object or a boolean/)],
    [[], refused('', /must be an object or a boolean/)],
    [{ type: 'strin' }, refused('/type', /must be one of .*"string"/)],
    [{ properties: { 'a/b~c': { minLength: -1 } } }, refused('/properties/a~1b~0c/minLength', /must be >= 0/)],
    [{ $schema: 'http://json-schema.org/draft-07/schema#' }, refused('/$schema', /2020-12/)],
    [{ $schema: 5 }, refused('/$schema', /2020-12/)],
    [{ items: { pattern: '(' } }, refused('/items/pattern', /Unterminated group/)],
    [{ patternProperties: { '\\-': {} } }, refused('/patternProperties/\\-', /Invalid escape/)],
    [{ $ref: '#/$defs/no' }, refused('/$ref', /#\/\$defs\/no, which is not in the schema/)],
    [{ $async: true }, refused('/$async', /Ajv alone/)],
    [{ $id: 'https://json-schema.org/draft/2020-12/schema' }, refused('', /already exists/)],
    [nested(65), refused('', /64 levels/)],
    [{ description: 'é'.repeat(32_768) }, refused('', /64 KiB/)],
  ])('is refused: %.80j', async (schema, error) => {
    await expect(schemas.check(schema)).rejects.toMatchObject(error);
  });

  it("cannot have another fetched, nor refer to another project's", async () => {
    const theirs = { $id: 'https://example.com/theirs', type: 'string' };
    await expect(problems(theirs, 'x')).resolves.toEqual([]);
    for (const reference of ['https://example.com/theirs', 'http://127.0.0.1/x', 'file:///etc/passwd', 'other.json']) {
      const schema = { allOf: [{ $ref: reference }] };
      const error = refused('/allOf/0/$ref', new RegExp(`refers to ${reference}, which is not in the schema`));
      await expect(schemas.check(schema)).rejects.toMatchObject(error);
      await expect(problems(schema, 'x')).rejects.toMatchObject(error);
    }
  });
});

/** Guards: the sender of an event learns which fields are invalid, and by which rule. */
describe('the data of an event', () => {
  it.each([
    [{ type: 'integer' }, 1, []],
    [true, { any: 'thing' }, []],
    [false, 1, [{ field: '', problem: 'must not be there' }]],
    [{ required: ['a/b'] }, {}, [{ field: '/a~1b', problem: 'is required' }]],
    [{ additionalProperties: false }, { a: 1 }, [{ field: '/a', problem: 'must not be there' }]],
    [{ unevaluatedProperties: false }, { a: 1 }, [{ field: '/a', problem: 'must not be there' }]],
    [{ properties: { a: false } }, { a: 1 }, [{ field: '/a', problem: 'must not be there' }]],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, [{ field: '/ab', problem: expect.stringMatching(/^has a name/) }]],
    [{ enum: ['a', 'b'] }, 'c', [{ field: '', problem: 'must be one of ["a","b"]' }]],
    [{ items: { const: 1 } }, [1, 2], [{ field: '/1', problem: 'must be 1' }]],
    [{ pattern: '^\\p{L}$' }, '\u{1d49c}', []],
    [{ maxLength: 1 }, '\u{1d49c}', []],
    [{ format: 'date' }, 'no date', []],
    [{ if: { type: 'string' }, else: { minimum: 2 } }, 1, [{ field: '', problem: 'must be >= 2' }]],
  ])('by %j: %j', async (schema, data, expected) => {
    await expect(problems(schema, data)).resolves.toEqual(expected);
  });

  it.each([
    [{ const: 9007199254740992 }, '9007199254740993', 'must be 9007199254740992'],
    [{ enum: [1, 9007199254740992] }, '9007199254740993', 'must be one of [1,9007199254740992]'],
    [{ minimum: 9007199254740994 }, '9007199254740993', 'must be >= 9007199254740994'],
    [{ maximum: 9007199254740992 }, '9007199254740993', 'must be <= 9007199254740992'],
    [{ exclusiveMinimum: 9007199254740992 }, '9007199254740993', null],
    [{ exclusiveMaximum: 9007199254740994 }, '9007199254740993', null],
    [{ exclusiveMinimum: -9007199254740992 }, '-9007199254740993.5', 'must be > -9007199254740992'],
    [{ multipleOf: 2 }, '9007199254740993', 'must be multiple of 2'],
    [{ multipleOf: 3 }, '9007199254740993', null],
    [{ multipleOf: 0.5 }, '9007199254740993.5', null],
    [{ multipleOf: 7 }, '1e999999999', 'must be multiple of 7'],
    [{ multipleOf: 3 }, `1e${'9'.repeat(400)}`, 'must be multiple of 3'],
    [{ type: 'integer' }, '9007199254740993', null],
    [{ type: 'integer' }, '9007199254740993.5', 'must be integer'],
    [{ type: 'number', minimum: 1 }, '1e400', null],
    [{ uniqueItems: true }, '[9007199254740992,9007199254740993]', null],
    [{ uniqueItems: true }, '[9007199254740993,9007199254740993.0]', expect.stringMatching(/duplicate/)],
    [{ const: { a: ['n1', 1.5] } }, '{"a":["n1",9007199254740993]}', expect.stringMatching(/^must be/)],
    [{ not: { const: 9007199254740992 } }, '9007199254740993', null],
    [{ propertyNames: { enum: ['/x~'] }, $ref: '#/$defs/n', $defs: { n: { items: true } } }, '{"/x~":1e400}', null],
  ])('with numbers beyond a double, by %j: %s', async (schema, text, problem) => {
    const expected = problem === null ? [] : [{ field: '', problem }];
    await expect(problems(schema, new RawJson(text))).resolves.toEqual(expected);
  });

  it('has the exact path of a number beyond a double', async () => {
    const schema = { properties: { '/~': { items: { maximum: 9007199254740992 } } } };
    const data = new RawJson('{"/~":[1,9007199254740993],"x":"9007199254740993"}');
    const problem = 'must be <= 9007199254740992';
    await expect(problems(schema, data)).resolves.toEqual([{ field: '/~1~0/1', problem }]);
  });

  it('cannot be compared with a schema number that a double cannot represent', () => {
    expect(() => refuseInexact('{"const":9007199254740993}')).toThrow('has the number 9007199254740993');
    expect(() => refuseInexact('{"const":1.10,"maximum":1e21,"multipleOf":0.1}')).not.toThrow();
  });

  it('gets all its problems, up to 20', async () => {
    const schema = { properties: { a: { type: 'string' }, b: { type: 'string' } } };
    await expect(problems(schema, { a: 1, b: 2 })).resolves.toHaveLength(2);
    await expect(
      problems(
        { items: { type: 'string' } },
        Array.from({ length: 100 }, () => 1),
      ),
    ).resolves.toHaveLength(20);
  });

  it('may have names of built-in object properties', async () => {
    const names = { constructor: { type: 'string' }, toString: { type: 'string' }, hasOwnProperty: { type: 'string' } };
    const schema = { properties: names, required: Object.keys(names), additionalProperties: false };
    await expect(problems(schema, {})).resolves.toHaveLength(3);
    await expect(problems(schema, { constructor: '', toString: '', hasOwnProperty: '' })).resolves.toEqual([]);
    const proto = JSON.parse('{"__proto__":1}');
    await expect(problems(schema, proto)).resolves.toContainEqual({
      field: '/__proto__',
      problem: 'must not be there',
    });
    await expect(problems(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), proto)).resolves.toEqual([]);
  });

  it('is shown in bounded, printable names', async () => {
    const [problem] = await problems({ additionalProperties: false }, { [`\n${'x'.repeat(10_000)}`]: 1 });
    expect(problem?.field).toMatch(/^\/\u{fffd}x{298}…$/u);
  });

  it('is refused when it is nested too deeply, or a `$ref` is circular', async () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
    await expect(problems({ items: { $ref: '#' } }, deep)).resolves.toEqual([
      { field: '', problem: 'is nested too deeply' },
    ]);
    await expect(problems({ $ref: '#' }, 1)).resolves.toEqual([
      { field: '', problem: expect.stringContaining('refers to itself') },
    ]);
  });
});
