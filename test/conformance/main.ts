/**
 * `npm run conformance [-- PART …]` applies published test material to parsers, signatures and API, and prints each
 * difference.
 */
import { cloudEvents } from './cloud-events.ts';
import { github } from './github.ts';
import { jsonSchema } from './json-schema.ts';
import { jsonText } from './json-text.ts';
import { fetchMaterials } from './materials.ts';
import type { Part } from './part.ts';
import { standardWebhooks } from './standard-webhooks.ts';
import { stripe } from './stripe.ts';

const PARTS: Readonly<Record<string, Part>> = {
  'standard-webhooks': standardWebhooks,
  stripe,
  github,
  'cloud-events': cloudEvents,
  'json-schema': jsonSchema,
  'json-text': jsonText,
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in PARTS));
if (unknown.length > 0) throw new Error(`There is no ${unknown.join(', ')}: ${Object.keys(PARTS).join(', ')}.`);
const materials = await fetchMaterials();
for (const [name, part] of Object.entries(PARTS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const { tried, differences, declared, outdated } = await part(materials);
  console.log(`${name}: ${tried} tried, ${differences.length} differences, ${declared.length} kinds more are declared`);
  for (const each of declared) console.log(`  declared  ${each}`);
  for (const each of outdated) console.log(`  declared, and not there  ${each}`);
  for (const each of differences) console.log(`  differs   ${each}`);
  if (differences.length + outdated.length > 0) process.exitCode = 1;
}
