// Many agents at once, then one that brings their answers together.
//
// Arguments: { "topics": ["tides", "volcanoes"] } (optional)
export const meta = {
  name: 'Fan out',
  description: 'Asks one agent per topic at the same time, then another one for a summary. Takes an optional list of topics.',
  slug: 'fan-out',
  // Callers read this before they call, and what does not fit is refused before anything starts.
  arguments: {
    type: 'object',
    properties: { topics: { type: 'array', items: { type: 'string' }, maxItems: 20, description: 'What to ask about.' } },
  },
  // No more than four agents at the same time. An agent that would start when 50,000 tokens are spent is refused.
  limits: { max_concurrency: 4, total_tokens: 50_000 },
};

const topics = Array.isArray(args.topics) && args.topics.length > 0 ? args.topics : ['tides', 'volcanoes', 'northern lights'];

// Phases and log lines show a person how far the run is.
phase('Research');
log(`Asking about ${topics.length} topics`);

// `parallel` takes functions, so that it decides when they start. Its results are in the order of the list.
const notes = await parallel(
  topics.map((topic) => () => agent(`Tell me the most surprising fact about ${topic}, in two sentences.`, { label: `research: ${topic}` })),
);

phase('Summary');
log(`${notes.length} answers, ${budget.spent()} tokens so far`);

const material = topics.map((topic, index) => `${topic}: ${notes[index]}`).join('\n');
const summary = await agent(`Write one paragraph that connects these facts:\n\n${material}`, { label: 'summary' });

return {
  summary,
  notes: topics.map((topic, index) => ({ topic, note: notes[index] })),
  tokens: budget.spent(),
};
