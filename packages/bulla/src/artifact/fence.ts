import { pathToFileURL } from 'node:url';

// Node looks for a package in the folders above as well. A package of the tree that asks for one that is not in the
// tree, as is usual for optional ones, would get whatever lies in the node_modules of a folder above: code that nobody
// pinned. So packages of the tree find packages of the tree, and nothing else. What a program loads by path, such as
// its user's configuration, and what that loads, is not touched.

/** The module that Node loads first, as an address that holds its text. */
export function fence(folder: string): string {
  const tree = JSON.stringify(`${pathToFileURL(folder).href}/`);
  const text = `import { registerHooks } from 'node:module';
const tree = ${tree};
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const isOurs = context.parentURL?.startsWith(tree);
    const isPackage = !/^(?:[./]|[a-z][a-z0-9+.-]*:)/i.test(specifier);
    if (!isOurs || !isPackage || !found.url.startsWith('file:') || found.url.startsWith(tree)) return found;
    const error = new Error('Cannot find package ' + JSON.stringify(specifier) + ' in the pinned tree');
    error.code = context.conditions.includes('require') ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND';
    throw error;
  },
});
`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}
