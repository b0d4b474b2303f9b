// A Graph is one JavaScript file that your desktop runs in a sandbox. It asks agents, and returns a result.
//
// It starts with its meta, a literal that is read without running the file. Clients see the name, the description and
// the arguments; what does not fit the arguments' JSON Schema is refused before anything starts.
export const meta = {
  name: 'First',
  slug: 'first',
  description: 'Looks at a topic from two sides, and weighs them. Takes a topic.',
  arguments: {
    type: 'object',
    properties: { topic: { type: 'string', minLength: 1, description: 'What to look at.' } },
    required: ['topic'],
    additionalProperties: false,
  },
  // An agent that would start when this many tokens are spent is refused; what runs finishes.
  limits: { total_tokens: 50_000, max_concurrency: 2 },
};

// `args` is what the caller sent. `phase` and `log` are shown to whoever watches.
phase('Both sides');
log(`Looking at ${args.topic}`);

// `parallel` takes functions and starts them; the results are in the order of the list.
const [forIt, against] = await parallel([
  () => agent(`Give the best argument for ${args.topic}, in two sentences.`, { label: 'for' }),
  () => agent(`Give the best argument against ${args.topic}, in two sentences.`, { label: 'against' }),
]);

phase('Verdict');
const verdict = await agent(`Weigh these against each other, in one sentence:\n\n${forIt}\n\n${against}`, { label: 'judge' });

// The result can be anything that JSON can hold. There is no clock, chance, file, network or import in here: pass what
// the Graph needs in its arguments, or let an agent or a tool get it.
return { topic: args.topic, for: forIt, against, verdict, tokens: budget.spent() };
