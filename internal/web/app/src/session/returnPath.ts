/** The sign-in screen, which leads back to a page of ours: path, query and hash. */
export function signInTo({ pathname, search, hash }: Location | URL): string {
  return `/signin?to=${encodeURIComponent(pathname + search + hash)}`
}

/**
 * The page to show after the sign-in: the one that `to` names, or the first screen if that is the
 * sign-in itself or no page of this site. `to` comes from an address that anybody can make.
 */
export function returnPath(to: string | null, origin: string): string {
  // Browsers drop tabs and line ends from addresses, and read \ as /.
  // oxlint-disable-next-line no-control-regex
  if (to === null || !to.startsWith('/') || /[\u0000-\u001f\u007f]/.test(to)) return '/'
  let url: URL
  try {
    url = new URL(to, origin)
  } catch {
    return '/'
  }
  const path = url.pathname + url.search + url.hash
  // /.//elsewhere.example is of this site, but its path alone is another's address.
  if (url.origin !== origin || /^\/[/\\]/.test(path)) return '/'
  return url.pathname === '/signin' ? '/' : path
}
