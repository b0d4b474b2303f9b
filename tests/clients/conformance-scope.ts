/**
 * Which scenarios of the MCP conformance suite apply to this relay, and why the others do not.
 *
 * Owns the reasons. The suite drives a server of its own making: most scenarios call tools, prompts and resources with
 * names that they expect there. The relay has its four tools and nothing else, in production as in tests; tools of the
 * suite that are of the same kind are played by them (`played-tools.ts`). What stays out needs something that the relay
 * does not have, or does not do. Must name each scenario of the suite once; a test compares.
 */

export interface Applying {
  /** Checks that cannot succeed here, by their id, each with the reason. One that succeeds is no exception any more. */
  readonly except?: Readonly<Record<string, string>>;
}

const NO_PROMPTS = 'there are no prompts';
const NO_RESOURCES = 'there are no resources';
const TEXT_ONLY = 'the tools answer in text and data, never with pictures, sounds or resources';
const ASKS_NOTHING = 'no tool asks its caller for anything while it runs';
const NO_LOGGING = 'nothing is logged to clients';
const FIXED_TOOLS = 'the tools change with the program only';
const NO_SKILLS = 'the extension is not declared';

export const APPLYING: Readonly<Record<string, Applying>> = {
  'server-initialize': {},
  ping: {},
  'tools-list': {},
  'tools-call-simple-text': {},
  'tools-call-error': {},
  'http-header-validation': {},
  'dns-rebinding-protection': {},
  'input-required-result-unsupported-methods': {},
  'server-sse-multiple-streams': {
    except: { 'server-sse-multiple-streams-session': 'there are no sessions, and the suite of 2025 looks for one' },
  },
  'server-stateless': {
    except: {
      'sep-2575-server-rejects-undeclared-capability': ASKS_NOTHING,
      'sep-2575-missing-capability-http-400': ASKS_NOTHING,
      'sep-2575-http-server-no-independent-requests-on-stream': ASKS_NOTHING,
      'sep-2575-server-no-log-without-loglevel': NO_LOGGING,
      'sep-2575-server-sends-prompts-list-changed-on-subscription': NO_PROMPTS,
      'sep-2575-server-sends-tools-list-changed-on-subscription': FIXED_TOOLS,
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

/** Of the extension. The suite runs them one by one only. */
export const APPLYING_TASKS: Readonly<Record<string, Applying>> = {
  'tasks-lifecycle': {
    except: { 'sep-2663-tasks-get-status-failed': 'no run ends as an error of the protocol, whatever its Graph does' },
  },
  'tasks-capability-negotiation': {},
  'tasks-wire-fields': {},
  'tasks-request-state-removal': {},
  'tasks-request-headers': {
    except: { 'tasks-headers-tolerate-mcp-method-on-tools-call': 'wants a greeting with the name that it gave' },
  },
  'tasks-dispatch-and-envelope': {
    except: {
      'tasks-result-type-complete-on-non-task-responses': `needs a task that waits for input: ${ASKS_NOTHING}`,
    },
  },
};

export const NOT_APPLYING: Readonly<Record<string, string>> = {
  'server-session-lifecycle': 'there are no sessions: the suite says so itself, and checks nothing',
  'server-sse-polling': 'no answer is broken off to be resumed: a client that lost one calls again',
  'tools-call-with-logging': NO_LOGGING,
  'tools-call-with-progress':
    'wants three messages of progress from one call: with one each 10 s, that takes 20 s. tests/mcp/progress.test.ts has them in virtual time',
  'logging-set-level': NO_LOGGING,
  'completion-complete': 'there is nothing to complete: no prompts, no resource templates',
  'json-schema-2020-12': 'looks for one tool with keywords that the schemas of the four do not need',
  'http-custom-header-server-validation': 'no tool maps an argument to a header (x-mcp-header)',
  'sep-2164-resource-not-found': NO_RESOURCES,
  ...each(TEXT_ONLY, [
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
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
    'tools-call-sampling',
    'tools-call-elicitation',
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
    'input-required-result-tampered-state',
    'input-required-result-capability-check',
    'input-required-result-ignore-extra-params',
    'input-required-result-validate-input',
    'tasks-mrtr-input',
    'tasks-mrtr-composition',
  ]),
  ...each(NO_SKILLS, ['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest']),
  'tasks-required-task-error': 'no tool needs a client that knows tasks',
  'tasks-status-notifications':
    'the suite says itself that it checks nothing yet. tests/mcp/task-news.test.ts has these notifications',
};

function each(reason: string, scenarios: readonly string[]): Record<string, string> {
  return Object.fromEntries(scenarios.map((scenario) => [scenario, reason]));
}
