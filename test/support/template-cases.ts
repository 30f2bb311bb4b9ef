import { useSagaCases } from './saga-cases.ts';
import { TestTemplates } from './templates.ts';

/** {@link useSagaCases} on the host in memory, with templates. Each test has a machine size of its own, so its templates are its own. */
export function useTemplateCases() {
  const { alone, mayfly } = useSagaCases({ kind: 'in-memory' });
  const test = alone.extend<{ templates: TestTemplates }>({
    templates: async ({ mayfly: own }, use) => {
      const { memory } = own;
      if (!memory) throw new Error('there is no machine in memory');
      memory.makesTemplates = true;
      const templates = new TestTemplates(own, memory);
      await use(templates);
      own.disarm();
      await templates.clear();
    },
  });
  return { test, mayfly };
}
