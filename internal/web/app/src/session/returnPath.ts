/** Returns the path of the sign-in screen that leads back to a page. */
export function signInTo({ pathname, search, hash }: Location | URL): string {
  return `/signin?to=${encodeURIComponent(pathname + search + hash)}`
}

/**
 * Returns the page to show after sign-in: the one in `to`, or home if `to` is the sign-in screen or
 * another site. `to` is untrusted input.
 */
export function returnPath(to: string | null, origin: string): string {
  // Browsers strip tabs and newlines from URLs and treat \ as /.
  // oxlint-disable-next-line no-control-regex
  if (to === null || !to.startsWith('/') || /[\u0000-\u001f\u007f]/.test(to)) return '/'
  let url: URL
  try {
    url = new URL(to, origin)
  } catch {
    return '/'
  }
  const path = url.pathname + url.search + url.hash
  // /.//elsewhere.example has this origin, but its path alone would lead to another host.
  if (url.origin !== origin || /^\/[/\\]/.test(path)) return '/'
  return url.pathname === '/signin' ? '/' : path
}
