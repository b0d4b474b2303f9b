/** The variables that let this desktop or its owner in at the relay. They are for no other program. */
export const OWN_SECRETS: readonly string[] = ['GRAPH_RELAY_TOKEN', 'GRAPH_RELAY_OWNER_PASSWORD'];

type Environment = Readonly<Record<string, string | undefined>>;

export function withoutOwnSecrets(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !OWN_SECRETS.includes(name)));
}
