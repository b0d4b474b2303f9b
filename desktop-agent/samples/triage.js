// Sorts a message into a list that a program can read: an answer with a shape, tried again, with a way out.
//
// Arguments: { "message": "The printer on floor 3 smells of smoke." }
export const meta = {
  name: 'Triage',
  description: 'Reads one message and says how urgent it is, who should see it, and why. Takes the message.',
  slug: 'triage',
  arguments: {
    type: 'object',
    properties: { message: { type: 'string', minLength: 1, maxLength: 20_000 } },
    required: ['message'],
  },
  limits: { total_tokens: 20_000 },
};

const verdict = {
  type: 'object',
  properties: {
    urgency: { enum: ['now', 'today', 'later'] },
    team: { type: 'string' },
    why: { type: 'string' },
  },
  required: ['urgency', 'team', 'why'],
};

const ask = () => agent(`How urgent is this message, and which team should see it?\n\n${args.message}`, { label: 'triage', schema: verdict });

// What would be refused again, such as an agent above the budget, is not tried again.
let answer;
try {
  answer = await retry(ask, { attempts: 3, backoff_ms: 1_000 });
} catch (error) {
  // A person can live with words; a message that nobody sees is worse.
  log(`No verdict (${error.message}), so a person has to look`);
  answer = { urgency: 'now', team: 'whoever is on duty', why: `not sorted: ${error.message}` };
}

return { ...answer, tokens: budget.spent() };
