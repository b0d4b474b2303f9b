// One Graph that calls another: the notes of `fan-out`, turned into a briefing for somebody.
//
// Arguments: { "reader": "a pilot", "topics": ["ice", "wind shear"] } (both optional)
export const meta = {
  name: 'Briefing',
  description: 'Lets the Graph "fan-out" look into some topics, and writes a briefing for one reader.',
  slug: 'briefing',
  arguments: {
    type: 'object',
    properties: {
      reader: { type: 'string', maxLength: 200 },
      topics: { type: 'array', items: { type: 'string' }, maxItems: 20 },
    },
  },
  limits: { total_tokens: 80_000 },
};

// It runs in a sandbox of its own, and its agents count into this run's budget.
const { notes, summary } = await graph('fan-out', args.topics ? { topics: args.topics } : {});
log(`${notes.length} notes for ${budget.spent()} tokens`);

const reader = args.reader?.trim() || 'somebody in a hurry';
const briefing = await agent(`Write a briefing for ${reader}, in five lines.\n\n${summary}`, { label: 'briefing' });

return { briefing, notes, tokens: budget.spent() };
