// Reads the text files of a folder through a tool, notes what each is about, and writes one report.
//
// Arguments: { "folder": "/srv/notes", "about": "what is still to do" } (`about` is optional)
//
// It needs a tool server called `files`. In `tools.json` of the desktop's data folder, for example:
//   { "mcpServers": { "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"] } } }
// The owner is asked for each tool, until `graph-relay desktop tools allow files.read_text_file` says otherwise.
export const meta = {
  name: 'Folder report',
  description: 'Reads the text files of a folder on this desktop, notes what each is about, and writes one report.',
  slug: 'folder-report',
  arguments: {
    type: 'object',
    properties: {
      folder: { type: 'string', minLength: 1, description: 'The folder, as the tool server sees it.' },
      about: { type: 'string', maxLength: 500, description: 'What the report should look at.' },
    },
    required: ['folder'],
  },
  // A tool that is not named here is refused, whatever the owner allows.
  tools: ['files.list_directory', 'files.read_text_file'],
  limits: { max_concurrency: 4, total_tokens: 200_000, tool_calls: 60 },
};

const MOST_FILES = 50;
const MOST_CHARS = 20_000;

// Servers give text, or data with the text in it.
const textOf = (output) => (typeof output === 'string' ? output : String(output?.content ?? JSON.stringify(output)));

phase('Look');
const listing = textOf(await tool('files.list_directory', { path: args.folder }));
const names = listing
  .split('\n')
  .filter((line) => line.startsWith('[FILE] '))
  .map((line) => line.slice('[FILE] '.length).trim())
  .filter((name) => /\.(md|txt|csv|log|json|ya?ml)$/i.test(name))
  .sort();
const chosen = names.slice(0, MOST_FILES);
log(`${chosen.length} of ${names.length} text files`);
if (chosen.length === 0) return { report: 'There are no text files in this folder.', files: [], tokens: 0 };

phase('Read');
// Each file goes its own way through the stages: one is summed up while the next is still read.
const notes = await pipeline(
  chosen,
  async (name) => textOf(await tool('files.read_text_file', { path: `${args.folder}/${name}` })).slice(0, MOST_CHARS),
  (text, name) => agent(`Say in two sentences what this file is about.\n\nFile: ${name}\n\n${text}`, { label: name }),
);

phase('Report');
const material = chosen.map((name, index) => `${name}: ${notes[index]}`).join('\n');
const wish = args.about ? `Look at this above all: ${args.about}\n\n` : '';
const report = await agent(`Write a short report over these files.\n\n${wish}${material}`, { label: 'report' });

return { report, files: chosen.map((name, index) => ({ name, note: notes[index] })), tokens: budget.spent() };
