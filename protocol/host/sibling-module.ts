/** Finds a module that is started as a process or a thread of its own: `.ts` beside sources, `.js` in the package. */

/** The address of `name` (without its ending) relative to the module whose `import.meta.url` is given. */
export function siblingModule(name: string, importMetaUrl: string): URL {
  return new URL(`${name}${importMetaUrl.endsWith('.ts') ? '.ts' : '.js'}`, importMetaUrl);
}
