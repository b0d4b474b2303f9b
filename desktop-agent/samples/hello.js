// The smallest useful Graph: one agent, one result.
//
// Arguments: { "name": "Ada" } (optional)
//
// A Graph starts with its meta: a plain literal that is read without running the file. `name` is what people see,
// `slug` is a short name for links and command lines.
export const meta = {
  name: 'Hello',
  description: 'Asks one agent for a greeting. Takes an optional name.',
  slug: 'hello',
  // JSON Schema of the arguments: callers see it, and what does not fit is refused before anything starts.
  arguments: { type: 'object', properties: { name: { type: 'string', maxLength: 100 } } },
};

// `args` is what the caller sent: an object that fits the schema above.
const name = args.name?.trim() || 'world';

// An agent takes a text and gives a text. The label is how it is called in events.
const greeting = await agent(`Say hello to ${name} in one short, friendly sentence.`, { label: 'greeter' });

// The result can be anything that JSON can hold.
return { name, greeting, tokens: budget.spent() };
