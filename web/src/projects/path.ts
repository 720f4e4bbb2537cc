// nameOf is the last part of a path, or the whole path of the topmost directory.
export function nameOf(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) || path;
}

export interface Crumb {
  name: string;
  path: string;
}

// crumbsOf returns the directories on the way from a root to a path inside it.
export function crumbsOf(root: string, path: string): Crumb[] {
  const top = root.replace(/\/+$/, '');
  const crumbs = [{ name: root, path: root }];
  let at = top;
  for (const part of path.slice(top.length).split('/')) {
    if (part === '') continue;
    at += `/${part}`;
    crumbs.push({ name: part, path: at });
  }
  return crumbs;
}
