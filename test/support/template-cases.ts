import { useSagaCases } from './saga-cases.ts';
import { TestTemplates } from './templates.ts';

/**
 * Extends {@link useSagaCases} on the host in memory by templates. Each test has its own machine size, and so its own
 * templates.
 */
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
