/** The words of `graph-relay desktop` about tools: servers, what is allowed, and what waits for a decision. */
import { type Command, Option } from 'commander';
import { type ApprovalScope, approvalScopeSchema } from '../run-events.ts';
import type { OwnerOptions } from './actions/admin.ts';
import { jsonOption } from './options.ts';

export function addToolCommands(desktop: Command): void {
  const tools = desktop
    .command('tools')
    .description('list the tool servers, their tools, and what each of them may do')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Servers stand in desktop/tools.json in the data folder, in the form of other programs:
  {"mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/files"]},
    "web": {"url": "http://127.0.0.1:3001/mcp", "headers": {"Authorization": "Bearer \${WEB_TOKEN}"}}
  }}

Examples:
  graph-relay desktop tools
  graph-relay desktop tools allow files.read_file
  graph-relay desktop tools allow 'files.read_*'
  graph-relay desktop tools deny 'files.*'
`,
    )
    .action(async (_options, command: Command) => (await actions()).listTools(command.optsWithGlobals()));
  for (const [rule, what] of RULES) {
    tools
      .command(rule)
      .description(what)
      .argument('<name>', "server.tool, or what it begins with and a star, in quotes: 'server.*'")
      .addOption(jsonOption())
      .action(async (name: string, _options, command: Command) =>
        (await actions()).permit({ pattern: name, rule }, command.optsWithGlobals()),
      );
  }
  tools
    .command('forget')
    .description('take an entry back; what the other entries say counts again')
    .argument('<name>', 'as it was given')
    .addOption(jsonOption())
    .action(async (name: string, _options, command: Command) =>
      (await actions()).forget(name, command.optsWithGlobals()),
    );
  addApprovalCommands(desktop);
}

const RULES = [
  ['allow', 'let Graphs call a tool without asking, from now on'],
  ['ask', 'ask each time, from now on; so it is with every tool that nothing was said of'],
  ['deny', 'let no Graph call a tool, from now on'],
] as const;

function addApprovalCommands(desktop: Command): void {
  desktop
    .command('approvals')
    .description('list the tool calls that wait for a decision, with their inputs')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).listApprovals(command.optsWithGlobals()));
  const decisions = [
    ['approve', 'allow', 'allow a tool call that waits'],
    ['deny', 'deny', 'deny a tool call that waits; its Graph goes on with an error'],
  ] as const;
  for (const [word, decision, what] of decisions) {
    desktop
      .command(word)
      .description(what)
      .argument('[id]', 'as `approvals` shows it; may be left out when one waits')
      .addOption(
        new Option('--for <scope>', 'this call, all calls of this tool in this run, or from now on')
          .choices(approvalScopeSchema.options)
          .default('call'),
      )
      .addOption(jsonOption())
      .addHelpText(
        'after',
        `\nExamples:\n  graph-relay desktop ${word}\n  graph-relay desktop ${word} 1a2b3c --for run\n`,
      )
      .action(async (approval: string | undefined, _options, command: Command) => {
        const options = command.optsWithGlobals<OwnerOptions & { for: ApprovalScope }>();
        await (await actions()).decide({ approval, decision, scope: options.for }, options);
      });
  }
}

function actions() {
  return import('./actions/tools.ts');
}
