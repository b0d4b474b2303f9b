/**
 * Which scenarios of the MCP conformance suite apply to this relay, and why the others do not.
 *
 * Owns the reasons. The suite drives a server of its own making: most scenarios call tools, prompts and resources with
 * names that they expect there. The relay has its four tools and nothing else, in production as in tests, so what is
 * checked is all that does not need such a name. Must name each scenario of the suite once; a test compares.
 */

export interface Applying {
  /** Checks that cannot succeed here, by their id, each with the reason. One that succeeds is no exception any more. */
  readonly except?: Readonly<Record<string, string>>;
}

const OWN_TOOL = "calls a tool of the suite's own server";
const NO_PROMPTS = 'there are no prompts';
const NO_RESOURCES = 'there are no resources';
const ASKS_NOTHING = 'no tool asks its caller for anything while it runs';
const NO_SKILLS = 'the extension is not declared';
const NO_LISTENING = 'nothing that a client could subscribe to changes while it listens, so no subscription is granted';
const OWN_TASKS = "makes its tasks with tools of the suite's own server (slow_compute, failing_job and others)";

export const APPLYING: Readonly<Record<string, Applying>> = {
  'server-initialize': {},
  ping: {},
  'tools-list': {},
  'http-header-validation': {},
  'server-sse-multiple-streams': {
    except: { 'server-sse-multiple-streams-session': 'there are no sessions, and the suite of 2025 looks for one' },
  },
  'server-stateless': {
    except: {
      'sep-2575-server-rejects-undeclared-capability': OWN_TOOL,
      'sep-2575-missing-capability-http-400': OWN_TOOL,
      'sep-2575-http-server-no-independent-requests-on-stream': OWN_TOOL,
      'sep-2575-server-no-log-without-loglevel': OWN_TOOL,
      'sep-2575-server-sends-subscription-ack': NO_LISTENING,
      'sep-2575-server-tags-subscription-id': NO_LISTENING,
      'sep-2575-server-sends-prompts-list-changed-on-subscription': NO_PROMPTS,
      'sep-2575-server-sends-tools-list-changed-on-subscription': 'the tools change with the program only',
    },
  },
  caching: {
    except: {
      'sep-2549-prompts-list-caching-hints': NO_PROMPTS,
      'sep-2549-resources-list-caching-hints': NO_RESOURCES,
      'sep-2549-resources-templates-list-caching-hints': NO_RESOURCES,
      'sep-2549-resources-read-caching-hints': NO_RESOURCES,
    },
  },
};

export const NOT_APPLYING: Readonly<Record<string, string>> = {
  'server-session-lifecycle': 'there are no sessions: the suite says so itself, and checks nothing',
  'server-sse-polling': OWN_TOOL,
  'dns-rebinding-protection':
    'by its own words for servers without authentication; here no tool is called without a token',
  'logging-set-level': 'nothing is logged to clients',
  'completion-complete': 'there is nothing to complete: no prompts, no resource templates',
  'json-schema-2020-12': OWN_TOOL,
  'http-custom-header-server-validation': 'no tool maps an argument to a header (x-mcp-header)',
  'sep-2164-resource-not-found': NO_RESOURCES,
  ...each(OWN_TOOL, [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-logging',
    'tools-call-error',
    'tools-call-with-progress',
    'tools-call-sampling',
    'tools-call-elicitation',
  ]),
  ...each(NO_RESOURCES, [
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
  ]),
  ...each(NO_PROMPTS, [
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ]),
  ...each(ASKS_NOTHING, [
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    'input-required-result-basic-elicitation',
    'input-required-result-basic-sampling',
    'input-required-result-basic-list-roots',
    'input-required-result-request-state',
    'input-required-result-multiple-input-requests',
    'input-required-result-multi-round',
    'input-required-result-missing-input-response',
    'input-required-result-non-tool-request',
    'input-required-result-result-type',
    'input-required-result-unsupported-methods',
    'input-required-result-tampered-state',
    'input-required-result-capability-check',
    'input-required-result-ignore-extra-params',
    'input-required-result-validate-input',
  ]),
  ...each(NO_SKILLS, ['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest']),
  ...each(OWN_TASKS, [
    'tasks-lifecycle',
    'tasks-capability-negotiation',
    'tasks-wire-fields',
    'tasks-request-state-removal',
    'tasks-mrtr-input',
    'tasks-request-headers',
    'tasks-dispatch-and-envelope',
    'tasks-status-notifications',
    'tasks-required-task-error',
    'tasks-mrtr-composition',
  ]),
};

function each(reason: string, scenarios: readonly string[]): Record<string, string> {
  return Object.fromEntries(scenarios.map((scenario) => [scenario, reason]));
}
