/** The words of `graph-relay desktop agents`: who answers when a Graph asks for an agent. */
import type { Command } from 'commander';
import { jsonOption } from './options.ts';

export function addAgentsCommand(desktop: Command): void {
  desktop
    .command('agents')
    .description('list the agents of this desktop (desktop/agents.json in the data folder), and try them')
    .option('--test [name]', 'ask this one, or each, for one word; costs a few tokens')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
The file, for example:
  { "default": "local",
    "agents": {
      "local":  { "type": "openai-compatible", "url": "http://127.0.0.1:11434/v1", "model": "llama3.2" },
      "claude": { "type": "anthropic", "model": "claude-sonnet-4-5" },
      "gpt":    { "type": "openai", "model": "gpt-5-mini", "key_command": ["pass", "show", "openai"] },
      "cc":     { "type": "command", "command": ["claude", "-p"] },
      "demo":   { "type": "scripted" } } }

Keys never stand in it: they come from a variable (ANTHROPIC_API_KEY, OPENAI_API_KEY, or what "api_key_env" names),
or from what "key_command" prints. A Graph names an agent as its model: agent(prompt, { model: "claude" }), or
"local:qwen3" for that agent with another model. A change counts for the next agent, without a restart.

Ends with 1 when an agent that was tried gave no answer.

Examples:
  graph-relay desktop agents
  graph-relay desktop agents --test
  graph-relay desktop agents --test local:qwen3 --json
`,
    )
    .action(async (_options, command: Command) => (await actions()).showAgents(command.optsWithGlobals()));
}

function actions() {
  return import('./actions/agents.ts');
}
